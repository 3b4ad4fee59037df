import AMQP
import Synchronization

/// The unfinished messages of a batch.
///
/// It alone decides when a message is done: when all of the batch is stored and the message's last open part is closed.
///
/// A message that is given up is never acknowledged. After a drain, the broker redelivers it. Otherwise `giveBack`
/// receives it once, so that it has an owner at any time.
///
/// Thread safety: the counts are behind a lock; the two closures are called outside of it.
final class OpenMessages: Sendable {
    fileprivate struct State {
        /// The number of open parts of each message.
        var open: [Int]
        var givenUp: Set<Int> = []
        var isStored = false
        /// Messages without open parts when the batch was stored.
        ///
        /// They are acknowledged with the next completed message. One acknowledgement for all of them costs the broker
        /// as much as a separate one for each.
        var idle: [Int] = []
        /// The continuations that wait until a message has at most one open part.
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        /// The messages until the whole batch is stored, so that work that waits for providers does not keep their
        /// bodies.
        var messages: [IncomingMessage]
        /// The messages that are kept for longer, by their positions.
        var kept: [Int: IncomingMessage] = [:]
    }

    /// A message that its batch has not finished.
    struct Abandoned: Sendable {
        let tag: DeliveryTag
        /// The message; `nil` if it is no longer in memory.
        let message: IncomingMessage?
        /// The database's error, if that is the reason.
        let why: String?
    }

    private let tags: [DeliveryTag]
    private let acknowledge: @Sendable ([DeliveryTag]) -> Void
    private let giveBack: @Sendable ([Abandoned]) -> Void
    private let state: Mutex<State>

    init(
        _ tags: [DeliveryTag],
        of messages: [IncomingMessage] = [],
        acknowledge: @escaping @Sendable ([DeliveryTag]) -> Void,
        giveBack: @escaping @Sendable ([Abandoned]) -> Void = { _ in }
    ) {
        self.tags = tags
        self.acknowledge = acknowledge
        self.giveBack = giveBack
        state = Mutex(State(open: Array(repeating: 0, count: tags.count), messages: messages))
    }

    var count: Int { tags.count }

    /// Opens a part of the message at each of these positions.
    ///
    /// Pulled deliveries have no message; nothing is counted for them.
    func open(_ positions: [Int]) {
        guard !positions.isEmpty, !tags.isEmpty else { return }
        state.withLock { state in for position in positions { state.open[position] += 1 } }
    }

    /// Closes a part of the message at each position, and acknowledges messages that are done now.
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

    /// Gives messages up, because some of their work remains undone.
    ///
    /// `why` is the reason if the database reported one.
    func giveUp(_ positions: [Int], because why: String? = nil) {
        guard !positions.isEmpty else { return }
        let (woken, fresh) = state.withLock { state in
            let fresh = Set(positions).subtracting(state.givenUp)
            state.givenUp.formUnion(fresh)
            return (state.takeWaiting(positions), fresh.sorted().map { ($0, state.message(at: $0)) })
        }
        for continuation in woken { continuation.resume() }
        let givenUp = fresh.filter { tags.indices.contains($0.0) }
        if !givenUp.isEmpty { giveBack(givenUp.map { Abandoned(tag: tags[$0], message: $1, why: why) }) }
    }

    /// Keeps the message at a position after the batch is stored; `nil` releases it.
    func keep(_ message: IncomingMessage?, at position: Int) {
        state.withLock { $0.kept[position] = message }
    }

    /// Returns when a message has only one open part or was given up.
    ///
    /// The result is `false` if it was given up.
    ///
    /// It is meant for the caller that closes the last part, once per message.
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

    /// Marks the batch as stored, with all remaining parts open.
    ///
    /// It returns whether a message has no open part.
    func stored() -> Bool {
        state.withLock { state in
            state.isStored = true
            state.messages = []
            state.idle = state.open.indices.filter(state.isDone)
            return !state.idle.isEmpty
        }
    }

    /// Acknowledges the messages that had no open part.
    func acknowledgeIdle() {
        settle { ($0.takeIdle(), []) }
    }

    /// Acknowledges completed messages and resumes their waiting callers.
    private func settle(_ change: (inout State) -> (done: [Int], woken: [CheckedContinuation<Void, Never>])) {
        // Swift 6.0.3 crashes if a closure with a single expression returns such a pair from a lock.
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

    /// Removes and returns the continuations that need not wait longer.
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
