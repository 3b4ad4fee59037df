import BellhopRules
import Foundation
import ServiceRuntime
import Synchronization

/// The receipts of what was taken: each is there after a while, and gone after a day.
final class ExpoReceiptBook: Sendable {
    private struct Entry {
        let receipt: JSONValue
        let readyAt: Instant
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// In the order of their coming, so that the oldest can give way.
        var order = Queue<String>()
    }

    private let delay: Duration
    private let state = Mutex(State())

    /// How many are kept at most.
    private static let capacity = 200_000
    private static let lifetime = Duration.seconds(86_400)

    init(delay: Duration) {
        self.delay = delay
    }

    /// A ticket that nobody else has; nil for a message of which there never is a receipt.
    func issue(_ receipt: JSONValue?, now: Instant, late: Duration = .zero) -> String {
        let ticket = UUID().uuidString.lowercased()
        guard let receipt else { return ticket }
        state.withLock { state in
            state.entries[ticket] = Entry(receipt: receipt, readyAt: now + delay + late)
            state.order.append(ticket)
            guard state.order.count > Self.capacity, let oldest = state.order.popFirst() else { return }
            state.entries[oldest] = nil
        }
        return ticket
    }

    /// Those of the tickets whose receipt is there, each once.
    func receipts(of tickets: [String], now: Instant) -> [(String, JSONValue)] {
        state.withLock { state in
            Set(tickets).compactMap { ticket in
                guard let entry = state.entries[ticket], entry.readyAt <= now else { return nil }
                return entry.readyAt + Self.lifetime > now ? (ticket, entry.receipt) : nil
            }
        }
    }
}
