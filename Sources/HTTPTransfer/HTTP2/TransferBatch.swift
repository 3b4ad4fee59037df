import ServiceRuntime

/// The requests of one `send` and the outcomes received for them.
///
/// Thread safety: `begin` is called once, before the batch is posted to the loop's inbox, or rejected immediately if
/// the inbox is closed. From then on only the loop's thread uses it. The cancellation of a task only posts the
/// reference.
final class TransferBatch: @unchecked Sendable {
    let requests: [TransferRequest]
    private var outcomes: Outcomes<TransferOutcome>

    /// Whether the waiting task has been cancelled; a cancellation can arrive before the batch itself.
    var isCancelled = false

    init(_ requests: [TransferRequest]) {
        self.requests = requests
        outcomes = Outcomes(count: requests.count)
    }

    func begin(_ continuation: CheckedContinuation<[TransferOutcome], Never>) {
        outcomes.begin(continuation)
    }

    /// Stores an outcome; the last one resumes the sender.
    func settle(_ index: Int, _ outcome: TransferOutcome) { outcomes.settle(index, outcome) }

    /// Settles every request without an outcome as not sent, for a batch that no loop has received.
    func refuseAll(_ reason: AbortReason) {
        for (index, request) in requests.enumerated() {
            settle(index, .notSent(reason.error(for: request)))
        }
    }
}

/// One request of a batch in a loop.
struct QueuedRequest {
    let batch: TransferBatch
    let index: Int

    /// The number of times that a peer rejected it unprocessed.
    var refusals = 0

    var request: TransferRequest { batch.requests[index] }
}
