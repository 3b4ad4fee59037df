import Postgres
import Store

/// Stores what is not a notification yet: what is fed for users, and events that wait.
struct Keeper: Sendable {
    let plans: EventPlans
    let feeds: FeedStore
    let metrics: PipelineMetrics

    /// What is left to do for the messages of a batch.
    struct Remainder: Sendable {
        var faults: [SortedBatch.Entry<Fault>] = []
        var unfinished: Set<Int> = []

        fileprivate mutating func add<Work, Outcome>(_ stored: Stored<Work, Outcome>) {
            faults += stored.refused
            unfinished.formUnion(stored.unfinished)
        }
    }

    func feed(_ entries: [SortedBatch.Entry<FeedEntry>], _ persistence: Persistence) async -> Remainder {
        var remainder = Remainder()
        let stored = await persistence.store(entries, refusing: Fault.refused) {
            [feeds] entries throws(PostgresError) in
            try await feeds.apply(entries)
        }
        for (entry, _) in stored.written { metrics.countFeed(entry.work.update) }
        remainder.add(stored)
        return remainder
    }

    func keep(
        _ entries: [SortedBatch.Entry<PlannedEvent>],
        cancelling cancellations: [SortedBatch.Entry<EventCancellation>],
        _ persistence: Persistence
    ) async -> Remainder {
        var remainder = Remainder()
        let kept = await persistence.store(entries, refusing: Fault.refused) { [plans] entries throws(PostgresError) in
            try await plans.keep(entries)
        }
        for (entry, outcome) in kept.written {
            metrics.count(outcome, entry.work)
            guard outcome == .conflict else { continue }
            remainder.faults.append(.init(index: entry.index, work: .conflict(entry.work)))
        }
        remainder.add(kept)
        let cancelled = await persistence.store(cancellations, refusing: Fault.refused) {
            [plans] cancellations throws(PostgresError) in try await plans.cancel(cancellations)
        }
        for (entry, _) in cancelled.written { metrics.countCancellation(entry.work.app) }
        remainder.add(cancelled)
        return remainder
    }
}
