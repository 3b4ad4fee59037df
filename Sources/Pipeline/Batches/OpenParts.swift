import Synchronization

/// How many parts of each message of a batch are still open: a message is done with when its last one is closed.
///
/// Thread safety: the counts are behind a lock.
final class OpenParts: Sendable {
    private struct State {
        /// By the position of the message in its batch.
        var open: [Int]
        var unfinished: Set<Int> = []
    }

    private let state: Mutex<State>

    /// `parts` holds the position of its message for each part; a message may have many.
    init(messages: Int, parts: [Int]) {
        var open = Array(repeating: 0, count: messages)
        for index in parts { open[index] += 1 }
        state = Mutex(State(open: open))
    }

    /// Closes a part for each position that is given and returns the positions of the messages that are done with now.
    ///
    /// Those that are `unfinished` must not be acknowledged, since something of theirs is undone.
    func close(_ parts: [Int], unfinished: Set<Int>) -> [Int] {
        state.withLock { state in
            state.unfinished.formUnion(unfinished)
            var done: [Int] = []
            for index in parts {
                state.open[index] -= 1
                if state.open[index] == 0, !state.unfinished.contains(index) { done.append(index) }
            }
            return done
        }
    }
}
