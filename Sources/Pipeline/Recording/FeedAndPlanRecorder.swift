import BellhopRules
import Store

/// Stores messages that are not notifications yet: feed messages and events for later or for a wide audience.
///
/// Each function returns the faults of messages that the database, or its contents, will never accept.
struct FeedAndPlanRecorder: Sendable {
    let store: any WorkerDatabase
    let metrics: RecordMetrics
    let inboxChanges: InboxChangeNotifier?

    func feed(_ entries: [Entry<FeedEntry>], _ batch: Batch) async -> [Entry<DeadLetterCause>] {
        let stored = await batch.store(entries) { [store] entries throws(StoreError) in
            try await store.apply(entries)
        }
        for (entry, _) in stored.written { metrics.countFeed(entry.work.update) }
        inboxChanges?.changed(stored.written.lazy.compactMap(\.entry.work.update.changedInbox))
        return stored.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
    }

    /// Stores planned events and applies cancellations, including those of events in the same batch.
    func keep(
        _ entries: [Entry<PlannedEvent>],
        cancelling cancellations: [Entry<EventCancellation>],
        _ batch: Batch
    ) async -> Kept {
        var kept = await keep(entries, batch)
        kept.faults += await cancel(cancellations, batch)
        return kept
    }

    /// The result of storing events that are not for named users or not due yet.
    struct Kept: Sendable {
        fileprivate(set) var faults: [Entry<DeadLetterCause>] = []
        /// The events that are in the database, from this batch or from an earlier copy.
        fileprivate var events: [Entry<PlannedEvent>] = []
    }

    /// Begins the expansion of events for a wide audience, and returns the first pages, for which no message exists
    /// yet.
    ///
    /// Cancelled events have no pages.
    func open(_ kept: inout Kept, _ batch: Batch) async -> [Entry<FanoutPage>] {
        let wide = kept.events.filter(\.work.isForNow)
        let opened = await batch.store(wide) { [store] plans throws(StoreError) in try await store.open(plans) }
        kept.faults += opened.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
        return opened.written.flatMap { entry, pages in pages.map { Entry(index: entry.index, work: $0) } }
    }

    private func keep(_ entries: [Entry<PlannedEvent>], _ batch: Batch) async -> Kept {
        let kept = await batch.store(entries) { [store] entries throws(StoreError) in try await store.keep(entries) }
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
        let cancelled = await batch.store(entries) { [store] entries throws(StoreError) in
            try await store.cancel(entries)
        }
        for (entry, _) in cancelled.written { metrics.countCancellation(entry.work.app) }
        return cancelled.refused.map { Entry(index: $0.index, work: .refused($0.work, $1)) }
    }
}

extension FeedUpdate {
    /// The user whose inbox or settings the update changes.
    fileprivate var changedInbox: UserKey? {
        switch change {
        case .recipientDeleted, .recipientUpserted, .notificationRead: UserKey(app: app, user: change.user)
        case .subscriptionUpserted, .subscriptionRevoked, .followAdded, .followRemoved,
            .reminderSet, .reminderRemoved:
            nil
        }
    }
}
