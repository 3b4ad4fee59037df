import AMQP
import Synchronization

/// The messages of a batch that are not done with, and the one place that decides when one is: when all of the batch is
/// stored, and the last thing that was opened for the message is closed.
///
/// What is given up is never acknowledged: the broker hands it out again.
///
/// Thread safety: the counts are behind a lock; `acknowledge` is called outside of it.
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
    }

    private let tags: [DeliveryTag]
    private let acknowledge: @Sendable ([DeliveryTag]) -> Void
    private let state: Mutex<State>

    init(_ tags: [DeliveryTag], acknowledge: @escaping @Sendable ([DeliveryTag]) -> Void) {
        self.tags = tags
        self.acknowledge = acknowledge
        state = Mutex(State(open: Array(repeating: 0, count: tags.count)))
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

    /// Something of these messages stays undone.
    func giveUp(_ positions: [Int]) {
        guard !positions.isEmpty else { return }
        let woken = state.withLock { state in
            state.givenUp.formUnion(positions)
            return state.takeWaiting(positions)
        }
        for continuation in woken { continuation.resume() }
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
