import Postgres
import Store

/// Stores what is not a notification yet: what is fed for users, and events that wait.
///
/// Returns the faults of messages that the database, or what it holds, will never let in.
struct FeedsAndPlans: Sendable {
    let store: any PipelineStore
    let metrics: RecordMetrics

    func feed(_ entries: [Entry<FeedEntry>], _ batch: Batch) async -> [Entry<DeadLetterCause>] {
        let stored = await batch.store(entries) { [store] entries throws(PostgresError) in
            try await store.apply(entries)
        }
        for (entry, _) in stored.written { metrics.countFeed(entry.work.update) }
        return stored.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
    }

    /// Keeps events that wait, and ends those that are cancelled, of the same batch, too.
    func keep(
        _ entries: [Entry<PlannedEvent>],
        cancelling cancellations: [Entry<EventCancellation>],
        _ batch: Batch
    ) async -> [Entry<DeadLetterCause>] {
        await keep(entries, batch) + (await cancel(cancellations, batch))
    }

    private func keep(_ entries: [Entry<PlannedEvent>], _ batch: Batch) async -> [Entry<DeadLetterCause>] {
        let kept = await batch.store(entries) { [store] entries throws(PostgresError) in try await store.keep(entries) }
        for (entry, outcome) in kept.written { metrics.count(outcome, entry.work) }
        let conflicts = kept.written.filter { $0.outcome == .conflict }.map(\.entry)
        return conflicts.map { Entry(index: $0.index, work: .conflict($0.work)) }
            + kept.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
    }

    private func cancel(_ entries: [Entry<EventCancellation>], _ batch: Batch) async -> [Entry<DeadLetterCause>] {
        let cancelled = await batch.store(entries) { [store] entries throws(PostgresError) in
            try await store.cancel(entries)
        }
        for (entry, _) in cancelled.written { metrics.countCancellation(entry.work.app) }
        return cancelled.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
    }
}
