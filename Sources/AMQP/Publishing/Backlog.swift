import ServiceRuntime

/// The messages that were submitted and not sent, oldest first.
///
/// Confined to the publisher's thread.
struct Backlog {
    private var batches = Queue<PublishBatch>()
    /// The index of the next message of the first batch.
    private var next = 0
    private var latestProgress = ContinuousClock.now

    var isEmpty: Bool { batches.isEmpty }

    mutating func add(_ submissions: [PublisherOutbox.Submission]) {
        batches.append(contentsOf: submissions.map(PublishBatch.init))
    }

    /// Takes the next message.
    mutating func pop() -> PendingPublish? {
        guard let batch = batches.first else { return nil }
        let ticket = PendingPublish(batch: batch, index: next)
        next += 1
        if next == ticket.batch.messages.count { dropFirst() }
        return ticket
    }

    /// Records that messages are being sent or confirmed, so that those waiting behind them are not overdue.
    mutating func progressed() {
        latestProgress = .now
    }

    /// Gives up messages that waited longer than `timeout` without progress.
    mutating func expire(_ timeout: Duration, at now: ContinuousClock.Instant, _ reason: String) {
        guard latestProgress.duration(to: now) > timeout else { return }
        while let batch = batches.first, batch.since.duration(to: now) > timeout { refuseFirst(batch, reason) }
    }

    mutating func refuseAll(_ reason: String) {
        while let batch = batches.first { refuseFirst(batch, reason) }
    }

    private mutating func refuseFirst(_ batch: PublishBatch, _ reason: String) {
        for index in next..<batch.messages.count { batch.resolve(index, .notSent(reason)) }
        dropFirst()
    }

    private mutating func dropFirst() {
        batches.removeFirst(1)
        next = 0
    }
}
