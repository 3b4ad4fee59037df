import CCurl
import Synchronization

/// What other threads ask of a loop, in the order in which they asked.
///
/// `curl_multi_wakeup` is the one call on a multi handle that other threads may make; it happens under the same lock
/// under which `end` forgets the handle, hence never on a handle that is gone.
final class TransferInbox: Sendable {
    enum Message: Sendable {
        case submit(TransferBatch)
        case cancel(TransferBatch)
        case close(CheckedContinuation<Void, Never>)
        case abandon
    }

    /// Thread safety: lives behind the lock; the pointer is only handed to `curl_multi_wakeup`.
    private struct State: @unchecked Sendable {
        var messages: [Message] = []
        var multi: UnsafeMutableRawPointer?
    }

    private let state: Mutex<State>

    init(waking multi: UnsafeMutableRawPointer) {
        state = Mutex(State(multi: multi))
    }

    /// Leaves a message and wakes the loop; false if the loop has ended and nobody will read it.
    ///
    /// The loop takes all messages at once, so only the first one since then has to wake it.
    @discardableResult
    func post(_ message: Message) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            state.messages.append(message)
            if state.messages.count == 1 { curl_multi_wakeup(multi) }
            return true
        }
    }

    /// All messages since the last call.
    func drain() -> [Message] {
        state.withLock { state in
            guard !state.messages.isEmpty else { return [] }
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Refuses messages from now on and gives back the ones that nobody has read.
    func end() -> [Message] {
        state.withLock { state in
            state.multi = nil
            defer { state.messages = [] }
            return state.messages
        }
    }
}
