import ServiceRuntime

/// The messages of one call and their outcomes so far.
///
/// Confined to the publisher's thread.
final class PublishBatch {
    let messages: [OutgoingMessage]
    let since: ContinuousClock.Instant
    private var outcomes: Outcomes<PublishOutcome>

    init(_ submission: PublisherOutbox.Submission) {
        messages = submission.messages
        since = submission.since
        outcomes = Outcomes(count: submission.messages.count)
        outcomes.begin(submission.answer)
    }

    /// Records an outcome.
    ///
    /// The first one counts; the last missing one answers the call.
    func resolve(_ index: Int, _ outcome: PublishOutcome) {
        outcomes.settle(index, outcome)
    }
}

/// One message of a batch.
struct PendingPublish {
    let batch: PublishBatch
    let index: Int

    var message: OutgoingMessage { batch.messages[index] }

    func resolve(_ outcome: PublishOutcome) {
        batch.resolve(index, outcome)
    }
}
