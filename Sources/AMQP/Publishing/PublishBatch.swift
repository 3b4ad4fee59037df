/// The messages of one call and their outcomes so far.
///
/// Confined to the publisher's thread.
final class PublishBatch {
    let messages: [OutgoingMessage]
    let since: ContinuousClock.Instant
    private let answer: CheckedContinuation<[PublishOutcome], Never>
    private var outcomes: [PublishOutcome?]
    private var missing: Int

    init(_ submission: PublisherOutbox.Submission) {
        messages = submission.messages
        since = submission.since
        answer = submission.answer
        outcomes = Array(repeating: nil, count: submission.messages.count)
        missing = submission.messages.count
    }

    /// Notes an outcome; the first one counts, and the last missing one answers the call.
    func resolve(_ index: Int, _ outcome: PublishOutcome) {
        guard outcomes[index] == nil else { return }
        outcomes[index] = outcome
        missing -= 1
        guard missing == 0 else { return }
        answer.resume(returning: outcomes.map { $0 ?? .unknown("no outcome was noted") })
    }
}

/// One message of a batch.
struct Ticket {
    let batch: PublishBatch
    let index: Int

    var message: OutgoingMessage { batch.messages[index] }

    func resolve(_ outcome: PublishOutcome) {
        batch.resolve(index, outcome)
    }
}
