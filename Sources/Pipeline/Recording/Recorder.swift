import BellhopRules
import Postgres
import ServiceRuntime
import Store

/// Writes in-app records together with the lines of the ledger that open with them.
struct Recorder: Sendable {
    let store: any PipelineStore
    let context: PipelineContext

    /// What came of the notifications of a batch.
    struct Recorded: Sendable {
        /// What this batch has claimed and goes out at once.
        var shipments: [Shipment] = []
        /// How many are new.
        fileprivate(set) var count = 0
        /// Notifications that were there already; something of them may still be owed.
        var duplicates: [Entry<NotificationKey>] = []
        /// What this batch has claimed, by decisions that are too old to go by: it is decided anew.
        fileprivate(set) var late: [Entry<NotificationKey>] = []
        fileprivate var refused: [(entry: Entry<InboxRecord>, why: String)] = []
        /// Other words were there already, by the positions of the messages.
        fileprivate var conflicts: [Int: [InboxRecord]] = [:]

        /// What will not get better by trying again; users of one message in conflict are one fault.
        var faults: [Entry<DeadLetterCause>] {
            refused.map { Entry(index: $0.entry.index, work: .refused($0.entry.work, $0.why)) }
                + conflicts.map { Entry(index: $0.key, work: .conflict($0.value)) }
        }

        /// The same, each with those whom it is about.
        var faultsByUser: [(users: [UserID], cause: DeadLetterCause)] {
            refused.map { ([$0.entry.work.user], .refused($0.entry.work, $0.why)) }
                + conflicts.map { ($0.value.map(\.user), .conflict($0.value)) }
        }

        /// Whether a message named users, and all of their notifications were there already.
        func hasOnlyDuplicates(of index: Int, in sorted: SortedBatch) -> Bool {
            let records = sorted.records.count { $0.index == index }
            return records > 0 && duplicates.count { $0.index == index } == records
        }
    }

    /// Records what was just decided, in one statement, and claims what goes out at once; only then is that built.
    ///
    /// A database that was away has kept the decisions waiting: quiet hours may have begun, or the user may have had enough.
    func record(
        _ decided: [Entry<Decider.Decided>],
        _ decider: Decider,
        _ batch: Batch,
        into recorded: inout Recorded
    ) async {
        let lease = Lease()
        let decidedAt = context.time.steady()
        let stored = await batch.store(decided) { [store, context] decided throws(PostgresError) in
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
    }

    private func count(_ stored: Stored<Decider.Decided, Inbox.Outcome>) {
        let metrics = context.metrics.records
        metrics.count(stored.written.lazy.map { ($0.entry.work.record.app, $0.outcome) })
        // Closures: a key path into an object is followed step by step at each element.
        let fresh = stored.written.lazy.filter { $0.outcome == .recorded }.map { $0.entry.work.record }
        metrics.countDecisions(fresh)
        metrics.countReroutes(fresh)
        context.herald?.changed(fresh.map { $0.key.recipient })
    }

    /// Which records go into which statement, by the bytes of their words.
    ///
    /// Bounds one statement whatever the audiences: 256 events of 1,000 users are many statements, not one; and so is one
    /// large event, whose words are in the statement once for each user.
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

    /// For how long a decision counts; a database that is merely slow is not asked twice.
    private static let patience = Duration.seconds(30)
    private static let pairsPerStatement = 1024
    private static let bytesPerStatement = 8 << 20
}
