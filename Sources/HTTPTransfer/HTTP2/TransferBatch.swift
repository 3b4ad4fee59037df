import ServiceRuntime

/// The requests of one `send` and the outcomes that have come in for them.
///
/// Thread safety: `begin` is called once, before the batch is posted to the loop's inbox (or refused on the spot, if
/// the inbox is closed); from then on the loop's thread alone touches it. The cancellation of a task only posts the
/// reference.
final class TransferBatch: @unchecked Sendable {
    let requests: [TransferRequest]
    private var outcomes: Outcomes<TransferOutcome>

    /// Set when the waiting task is gone: a cancellation can arrive before the batch itself does.
    var isCancelled = false

    init(_ requests: [TransferRequest]) {
        self.requests = requests
        outcomes = Outcomes(count: requests.count)
    }

    func begin(_ continuation: CheckedContinuation<[TransferOutcome], Never>) {
        outcomes.begin(continuation)
    }

    /// Files an outcome; the last one resumes the sender.
    func settle(_ index: Int, _ outcome: TransferOutcome) {
        outcomes.settle(index, outcome)
    }

    /// Settles every request that has no outcome yet as not sent; for a batch that no loop has taken up.
    func refuseAll(_ reason: Abandonment) {
        for (index, request) in requests.enumerated() {
            settle(index, .notSent(reason.error(for: request)))
        }
    }
}
