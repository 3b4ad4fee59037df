import BellhopRules
import Push
import Synchronization
import TestSupport

@testable import Pipeline

/// A provider that accepts everything, and answers when the test permits it.
final class GatedSender: PushSender {
    let provider: PushProvider
    let window: Int
    let budget: PushBudget?
    private let state = Mutex((isOpen: false, tokens: [String](), waiting: [CheckedContinuation<Void, Never>]()))

    init(_ provider: PushProvider = .fcm, window: Int = .max, budget: PushBudget? = nil, isOpen: Bool = false) {
        self.provider = provider
        self.window = window
        self.budget = budget
        state.withLock { $0.isOpen = isOpen }
    }

    /// The tokens of the devices that were sent to, in order.
    var tokens: [String] { state.withLock { $0.tokens } }

    /// Answers everything from now on.
    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Answers one request at a time, each after the next one has arrived, and opens when `count` have arrived.
    ///
    /// Requests in flight can overtake each other. Here only one place becomes free at a time, so that the order is
    /// exact.
    func answerInTurn(until count: Int) async throws {
        while tokens.count < count {
            let known = tokens.count
            state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }?.resume()
            try await eventually("the next request has come") { self.tokens.count > known }
        }
        open()
    }

    func send(_ batch: [PushMessage]) async -> [Verdict] {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                state.tokens += batch.map(\.device.token.text)
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        return batch.map { _ in .delivered(providerMessageID: nil) }
    }
}
