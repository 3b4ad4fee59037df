import ServiceRuntime
import Synchronization

/// The messages of other threads to a loop, in order.
///
/// The loop is woken under the same lock under which `end` removes the wake function, so that an ended loop is never
/// woken.
final class TransferInbox: Sendable {
    enum Message: Sendable {
        case submit(TransferBatch)
        case cancel(TransferBatch)
        /// Connections that are open now get no further requests.
        case retire
        case close
        case abandon
        /// The resolver has answered.
        case lookedUp(Destination, NameLookup.Answer)
    }

    private struct State {
        var messages: [Message] = []
        var wake: (@Sendable () -> Void)?
    }

    /// Completes when the loop has ended and everything is released.
    let completion = Completion()
    private let state: Mutex<State>

    init(waking wake: @escaping @Sendable () -> Void) { state = Mutex(State(wake: wake)) }

    /// Posts a message and wakes the loop; returns false if the loop has ended and will not read it.
    ///
    /// The loop takes all messages together, so only the first one since then has to wake it.
    @discardableResult
    func post(_ message: Message) -> Bool {
        state.withLock { state in
            guard let wake = state.wake else { return false }
            state.messages.append(message)
            if state.messages.count == 1 { wake() }
            return true
        }
    }

    /// Returns all messages since the last call.
    func drain() -> [Message] {
        state.withLock { state in
            guard !state.messages.isEmpty else { return [] }
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Rejects messages from now on and returns the unread ones.
    func end() -> [Message] {
        state.withLock { state in
            state.wake = nil
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Passes a batch to the loop and waits for its outcomes.
    func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        guard !requests.isEmpty else { return [] }
        let batch = TransferBatch(requests)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                batch.begin(continuation)
                guard !post(.submit(batch)) else { return }
                batch.refuseAll(.closed)
            }
        } onCancel: {
            post(.cancel(batch))
        }
    }

    /// Asks the loop to end and waits until it has ended.
    func close() async {
        post(.close)
        await completion.wait()
    }
}
