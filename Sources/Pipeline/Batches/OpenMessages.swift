import AMQP
import Synchronization

/// The messages of a batch that are not done with, and the one place that decides when one is: when all of the batch is
/// stored, and the last thing that was opened for the message is closed.
///
/// A message that is given up is never acknowledged. A drain leaves it to the broker, which delivers it again; otherwise
/// `giveBack` gets it once, so that it has an owner at any time.
///
/// Thread safety: the counts are behind a lock; the two closures are called outside of it.
final class OpenMessages: Sendable {
    fileprivate struct State {
        /// What is still to be done for each message.
        var open: [Int]
        var givenUp: Set<Int> = []
        var isStored = false
        /// With these nothing was left to do when all was stored.
        ///
        /// They go along with whatever ends first: one acknowledgement for all of them costs the broker as much as one for
        /// each of those that stand alone.
        var idle: [Int] = []
        /// Who waits until a message has no more than one thing left to do.
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        /// The messages themselves, until all of the batch is stored: what waits for providers must not keep their bodies.
        var messages: [IncomingMessage]
        /// Those that are kept for longer, by their positions.
        var kept: [Int: IncomingMessage] = [:]
    }

    /// A message whose batch has not finished it.
    struct GivenUp: Sendable {
        let tag: DeliveryTag
        /// `nil` if its batch has forgotten it.
        let message: IncomingMessage?
        /// The database's error, if that is the reason.
        let why: String?
    }

    private let tags: [DeliveryTag]
    private let acknowledge: @Sendable ([DeliveryTag]) -> Void
    private let giveBack: @Sendable ([GivenUp]) -> Void
    private let state: Mutex<State>

    init(
        _ tags: [DeliveryTag],
        of messages: [IncomingMessage] = [],
        acknowledge: @escaping @Sendable ([DeliveryTag]) -> Void,
        giveBack: @escaping @Sendable ([GivenUp]) -> Void = { _ in }
    ) {
        self.tags = tags
        self.acknowledge = acknowledge
        self.giveBack = giveBack
        state = Mutex(State(open: Array(repeating: 0, count: tags.count), messages: messages))
    }

    var count: Int { tags.count }

    /// There is one more thing to do for the message at each of these positions.
    ///
    /// Of what no message of the broker is behind, all positions are beyond the last one, and nothing is counted.
    func open(_ positions: [Int]) {
        guard !positions.isEmpty, !tags.isEmpty else { return }
        state.withLock { state in for position in positions { state.open[position] += 1 } }
    }

    /// So much has been done; acknowledges what is done with now.
    func close(_ positions: [Int]) {
        guard !tags.isEmpty else { return }
        settle { state in
            var done: [Int] = []
            for position in positions {
                state.open[position] -= 1
                if state.isDone(position) { done.append(position) }
            }
            return (done + state.takeIdle(), state.takeWaiting(positions))
        }
    }

    /// Something of these messages stays undone, for the reason `why` if the database gave one.
    func giveUp(_ positions: [Int], because why: String? = nil) {
        guard !positions.isEmpty else { return }
        let (woken, fresh) = state.withLock { state in
            let fresh = Set(positions).subtracting(state.givenUp)
            state.givenUp.formUnion(fresh)
            return (state.takeWaiting(positions), fresh.sorted().map { ($0, state.message(at: $0)) })
        }
        for continuation in woken { continuation.resume() }
        let givenUp = fresh.filter { tags.indices.contains($0.0) }
        if !givenUp.isEmpty { giveBack(givenUp.map { GivenUp(tag: tags[$0], message: $1, why: why) }) }
    }

    /// Keeps the message at a position also when all is stored; `nil` forgets it.
    func keep(_ message: IncomingMessage?, at position: Int) {
        state.withLock { $0.kept[position] = message }
    }

    /// Returns when all but one of the things to do for a message are done, or it was given up; whether it was not.
    ///
    /// For whoever does the last one, and asks for one message once.
    func isLast(for position: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let isNow = state.withLock { state in
                state.waiting[position] = continuation
                return !state.takeWaiting([position]).isEmpty
            }
            if isNow { continuation.resume() }
        }
        return !isGivenUp(position)
    }

    func isGivenUp(_ position: Int) -> Bool { state.withLock { $0.givenUp.contains(position) } }

    /// All is stored, and everything that is left to do has been opened; whether there is a message with nothing left.
    func stored() -> Bool {
        state.withLock { state in
            state.isStored = true
            state.messages = []
            state.idle = state.open.indices.filter(state.isDone)
            return !state.idle.isEmpty
        }
    }

    /// Acknowledges those with which nothing was left to do.
    func acknowledgeIdle() {
        settle { ($0.takeIdle(), []) }
    }

    /// Acknowledges what is done with, and wakes whoever has waited for it.
    private func settle(_ change: (inout State) -> (done: [Int], woken: [CheckedContinuation<Void, Never>])) {
        // Swift 6.0.3 crashes where such a pair is handed out of a lock by a closure of one expression.
        let settled = state.withLock { state in change(&state) }
        if !settled.done.isEmpty { acknowledge(settled.done.map { tags[$0] }) }
        for continuation in settled.woken { continuation.resume() }
    }
}

extension OpenMessages.State {
    fileprivate func message(at position: Int) -> IncomingMessage? {
        messages.indices.contains(position) ? messages[position] : kept[position]
    }

    fileprivate func isDone(_ position: Int) -> Bool {
        isStored && open[position] == 0 && !givenUp.contains(position)
    }

    /// Those of them that have no more to wait for.
    fileprivate mutating func takeWaiting(_ positions: [Int]) -> [CheckedContinuation<Void, Never>] {
        guard !waiting.isEmpty else { return [] }
        return Set(positions).compactMap { position in
            open[position] <= 1 || givenUp.contains(position) ? waiting.removeValue(forKey: position) : nil
        }
    }

    fileprivate mutating func takeIdle() -> [Int] {
        defer { idle = [] }
        return idle
    }
}
