import BellhopRules
import ServiceRuntime
import Store

/// Writes in-app records together with their first rows in the ledger.
struct Recorder: Sendable {
    let store: any WorkerDatabase
    let context: PipelineContext

    /// The result of recording a batch's notifications.
    struct Recorded: Sendable {
        /// The shipments that this batch has claimed and sends immediately.
        var shipments: [OutgoingDelivery] = []
        /// The number of new notifications.
        fileprivate(set) var count = 0
        /// Notifications that existed already; some of their deliveries may be open.
        var duplicates: [Entry<NotificationKey>] = []
        /// Notifications that this batch has claimed with outdated decisions.
        ///
        /// They are decided again.
        fileprivate(set) var late: [Entry<NotificationKey>] = []
        fileprivate var refused: [(entry: Entry<InboxRecord>, why: String)] = []
        /// Records that conflict with existing text, by the positions of their messages.
        fileprivate var conflicts: [Int: [InboxRecord]] = [:]

        /// Faults that no retry can fix.
        ///
        /// Conflicting users of one message are one fault.
        var faults: [Entry<DeadLetterCause>] {
            refused.map { Entry(index: $0.entry.index, work: .refused($0.entry.work, $0.why)) }
                + conflicts.map { Entry(index: $0.key, work: .conflict($0.value)) }
        }

        /// The same faults, each with the affected users.
        var faultsByUser: [(users: [UserID], cause: DeadLetterCause)] {
            refused.map { ([$0.entry.work.user], .refused($0.entry.work, $0.why)) }
                + conflicts.map { ($0.value.map(\.user), .conflict($0.value)) }
        }

        /// Whether a message named users, and all of their notifications existed already.
        func hasOnlyDuplicates(of index: Int, in parsed: ParsedBatch) -> Bool {
            guard case .event(let records) = parsed.messages[index], !records.isEmpty else { return false }
            return duplicates.count { $0.index == index } == records.count
        }
    }

    /// Records new decisions in one statement and claims the deliveries to send immediately.
    ///
    /// Their shipments are built only after that.
    ///
    /// If an unavailable database has delayed the decisions, they are outdated: quiet hours may have begun, or the user
    /// may have reached a limit.
    func record(
        _ decided: [Entry<Decider.Decided>],
        _ decider: Decider,
        _ batch: Batch,
        into recorded: inout Recorded
    ) async {
        let lease = Lease()
        let decidedAt = context.time.steady()
        let stored = await batch.store(decided) { [store, context] decided throws(StoreError) in
            let start = context.time.steady()
            let outcomes = try await store.record(decided.map(\.record), as: batch.claim)
            lease.begin(at: start)
            return outcomes
        }
        let isLate = context.time.steady() - decidedAt > Self.patience
        for (entry, outcome) in stored.written {
            switch outcome {
            case .recorded where isLate:
                recorded.count += 1
                recorded.late.append(Entry(index: entry.index, work: entry.work.record.key))
            case .recorded:
                recorded.count += 1
                decider.addShipments(of: entry, under: lease, to: &recorded.shipments)
            case .duplicate: recorded.duplicates.append(Entry(index: entry.index, work: entry.work.record.key))
            case .conflict: recorded.conflicts[entry.index, default: []].append(entry.work.record)
            case .recipientErased: break
            }
        }
        recorded.refused += stored.refused.map { (Entry(index: $0.index, work: $0.work.record), $1) }
        count(stored)
        let paused = stored.written.lazy.filter { $0.outcome == .recorded && $0.entry.work.waitsForPause }
        await batch.releasePaused(of: Set(paused.map { $0.entry.work.record.key.recipient }), in: store)
    }

    private func count(_ stored: Stored<Decider.Decided, RecordOutcome>) {
        let metrics = context.metrics.records
        metrics.count(stored.written.lazy.map { ($0.entry.work.record.app, $0.outcome) })
        // Closures are used because a key path into an object is evaluated step by step for each element.
        let fresh = stored.written.lazy.filter { $0.outcome == .recorded }.map { $0.entry.work.record }
        metrics.countDecisions(fresh)
        metrics.countReroutes(fresh)
        context.inboxChanges?.changed(fresh.map { $0.key.recipient })
    }

    /// Divides records into statements by the size of their texts.
    ///
    /// This bounds one statement for any audience: 256 events for 1,000 users each become many statements. So does one
    /// large event, whose text is in the statement once for each user.
    static func statements(for bytes: [Int]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var (start, size) = (0, 0)
        for (index, next) in bytes.enumerated() {
            if index > start, index - start == pairsPerStatement || size + next > bytesPerStatement {
                ranges.append(start..<index)
                (start, size) = (index, 0)
            }
            size += next
        }
        if start < bytes.count { ranges.append(start..<bytes.count) }
        return ranges
    }

    /// The period for which a decision is valid.
    ///
    /// A database that is only slow does not cause a second decision.
    private static let patience = Duration.seconds(30)
    private static let pairsPerStatement = 1024
    private static let bytesPerStatement = 8 << 20
}
