/// What has been submitted and not been sent, oldest first.
///
/// Confined to the publisher's thread.
struct Backlog {
    private var batches: [PublishBatch] = []
    private var start = 0
    /// The next message of the first batch.
    private var next = 0
    private var latestProgress = ContinuousClock.now

    var isEmpty: Bool { start == batches.count }

    mutating func add(_ submissions: [PublisherOutbox.Submission]) {
        batches += submissions.map(PublishBatch.init)
    }

    /// Takes the next message.
    mutating func pop() -> Ticket? {
        guard !isEmpty else { return nil }
        let ticket = Ticket(batch: batches[start], index: next)
        next += 1
        if next == ticket.batch.messages.count { dropFirst() }
        return ticket
    }

    /// Notes that messages are moving: what waits its turn behind them is not overdue.
    mutating func progressed() {
        latestProgress = .now
    }

    /// Gives up what has waited longer than `timeout` while nothing moved.
    mutating func expire(_ timeout: Duration, at now: ContinuousClock.Instant, _ reason: String) {
        guard latestProgress.duration(to: now) > timeout else { return }
        while !isEmpty, batches[start].since.duration(to: now) > timeout { refuseFirst(reason) }
    }

    mutating func refuseAll(_ reason: String) {
        while !isEmpty { refuseFirst(reason) }
    }

    private mutating func refuseFirst(_ reason: String) {
        let batch = batches[start]
        for index in next..<batch.messages.count { batch.resolve(index, .notSent(reason)) }
        dropFirst()
    }

    private mutating func dropFirst() {
        start += 1
        next = 0
        guard isEmpty || start > 64 && start * 2 > batches.count else { return }
        batches.removeFirst(start)
        start = 0
    }
}
