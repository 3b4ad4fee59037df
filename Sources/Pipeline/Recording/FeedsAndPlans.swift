import BellhopRules
import Postgres
import Store

/// Stores what is not a notification yet: what is fed for users, and events that wait.
///
/// Returns the faults of messages that the database, or what it holds, will never let in.
struct FeedsAndPlans: Sendable {
    let store: any PipelineStore
    let metrics: RecordMetrics
    let herald: Herald?

    func feed(_ entries: [Entry<FeedEntry>], _ batch: Batch) async -> [Entry<DeadLetterCause>] {
        let stored = await batch.store(entries) { [store] entries throws(PostgresError) in
            try await store.apply(entries)
        }
        for (entry, _) in stored.written { metrics.countFeed(entry.work.update) }
        herald?.changed(stored.written.lazy.compactMap(\.entry.work.update.erased))
        return stored.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
    }

    /// Keeps events that wait, and ends those that are cancelled, of the same batch, too.
    func keep(
        _ entries: [Entry<PlannedEvent>],
        cancelling cancellations: [Entry<EventCancellation>],
        _ batch: Batch
    ) async -> Kept {
        var kept = await keep(entries, batch)
        kept.faults += await cancel(cancellations, batch)
        return kept
    }

    /// What came of events that are not for named users, or not for now.
    struct Kept: Sendable {
        fileprivate(set) var faults: [Entry<DeadLetterCause>] = []
        /// What is in the database, now or since a copy of it came.
        fileprivate var events: [Entry<PlannedEvent>] = []
    }

    /// Begins to expand what is for a wider audience, and returns the first pages, which no message names yet.
    ///
    /// What was cancelled leads nowhere.
    func open(_ kept: inout Kept, _ batch: Batch) async -> [Entry<FanoutPage>] {
        let wide = kept.events.filter(\.work.isForNow)
        let opened = await batch.store(wide) { [store] plans throws(PostgresError) in try await store.open(plans) }
        kept.faults += opened.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
        return opened.written.flatMap { entry, pages in pages.map { Entry(index: entry.index, work: $0) } }
    }

    private func keep(_ entries: [Entry<PlannedEvent>], _ batch: Batch) async -> Kept {
        let kept = await batch.store(entries) { [store] entries throws(PostgresError) in try await store.keep(entries) }
        for (entry, outcome) in kept.written { metrics.count(outcome, entry.work) }
        var result = Kept()
        for (entry, outcome) in kept.written {
            switch outcome {
            case .kept, .duplicate: result.events.append(entry)
            case .conflict: result.faults.append(Entry(index: entry.index, work: .conflict(entry.work)))
            case .cancelled: break
            }
        }
        result.faults += kept.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
        return result
    }

    private func cancel(_ entries: [Entry<EventCancellation>], _ batch: Batch) async -> [Entry<DeadLetterCause>] {
        let cancelled = await batch.store(entries) { [store] entries throws(PostgresError) in
            try await store.cancel(entries)
        }
        for (entry, _) in cancelled.written { metrics.countCancellation(entry.work.app) }
        return cancelled.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
    }
}

extension FeedUpdate {
    /// Whose inbox is gone with it.
    fileprivate var erased: RecipientKey? {
        guard case .recipientDeleted(let user) = change else { return nil }
        return RecipientKey(app: app, user: user)
    }
}
