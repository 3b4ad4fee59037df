import ServiceRuntime
import Synchronization

/// What other threads ask of a loop, in the order in which they asked.
///
/// Waking happens under the same lock under which `end` forgets how to: hence never a loop that is gone.
final class TransferInbox: Sendable {
    enum Message: Sendable {
        case submit(TransferBatch)
        case cancel(TransferBatch)
        /// What is open now gets nothing more.
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

    /// The loop has ended, and everything is released.
    let completion = Completion()
    private let state: Mutex<State>

    init(waking wake: @escaping @Sendable () -> Void) {
        state = Mutex(State(wake: wake))
    }

    /// Leaves a message and wakes the loop; false if the loop has ended and nobody will read it.
    ///
    /// The loop takes all messages at once, so only the first one since then has to wake it.
    @discardableResult
    func post(_ message: Message) -> Bool {
        state.withLock { state in
            guard let wake = state.wake else { return false }
            state.messages.append(message)
            if state.messages.count == 1 { wake() }
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
            state.wake = nil
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Hands a batch to the loop and waits for its outcomes.
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

    /// Asks the loop to end and waits until it has.
    func close() async {
        post(.close)
        await completion.wait()
    }
}
