import BellhopRules
import Postgres
import Store

/// Writes in-app records together with the lines of the ledger that open with them.
struct Recorder: Sendable {
    let inbox: Inbox
    let directory: RecipientDirectory
    let metrics: PipelineMetrics

    /// What came of the notifications of a batch.
    struct Recorded: Sendable {
        /// What this batch has claimed and goes out at once.
        var parcels: [Parcel] = []
        /// Notifications that were there already; something of them may still be owed.
        var duplicates: [SortedBatch.Entry<NotificationKey>] = []
        var faults: [SortedBatch.Entry<Fault>] = []
        var unfinished: Set<Int> = []

        /// Whether a message named users, and all of their notifications were there already.
        func hasOnlyDuplicates(of index: Int, in sorted: SortedBatch) -> Bool {
            let records = sorted.records.count { $0.index == index }
            return records > 0 && duplicates.count { $0.index == index } == records
        }
    }

    /// One record with what is to be sent of it, should it be new.
    private struct Opened: Sendable {
        var record: InboxRecord
        var parcels: [Parcel]
    }

    func record(
        _ entries: [SortedBatch.Entry<InboxRecord>],
        as claim: Claim,
        _ decider: Decider,
        _ persistence: Persistence
    ) async -> Recorded {
        var recorded = Recorded()
        var conflicts: [Int: [InboxRecord]] = [:]
        for range in Self.statements(for: entries.map(\.work.words.bytes)) {
            let chunk = Array(entries[range])
            var decider = decider
            let lease = Lease()
            decider.lease = lease
            guard let opened = await open(chunk, decider, persistence) else {
                recorded.unfinished.formUnion(chunk.map(\.index))
                continue
            }
            let stored = await persistence.store(opened, refusing: { .refused($0.record, $1) }) {
                [inbox] opened throws(PostgresError) in
                let start = ContinuousClock.now
                let outcomes = try await inbox.record(opened.map(\.record), as: claim)
                lease.begin(at: start)
                return outcomes
            }
            for (entry, outcome) in stored.written {
                switch outcome {
                case .recorded: recorded.parcels += entry.work.parcels
                case .duplicate: recorded.duplicates.append(.init(index: entry.index, work: entry.work.record.key))
                case .conflict: conflicts[entry.index, default: []].append(entry.work.record)
                case .recipientErased: break
                }
            }
            metrics.count(stored.written.map { ($0.entry.work.record.app, $0.outcome) })
            let fresh = stored.written.lazy.filter { $0.outcome == .recorded }.map(\.entry.work.record)
            metrics.countDecisions(fresh)
            metrics.countReroutes(fresh)
            recorded.faults += stored.refused
            recorded.unfinished.formUnion(stored.unfinished)
        }
        recorded.faults += conflicts.map { .init(index: $0.key, work: .conflict($0.value)) }
        // A copy inside this batch has nothing of its own to do: its twin's lines are under this very claim.
        if !recorded.duplicates.isEmpty {
            let taken = Set(recorded.parcels.map(\.key.notification))
            recorded.duplicates.removeAll { taken.contains($0.work) }
        }
        return recorded
    }

    /// Looks the recipients up and decides, so that each record enters the ledger with its deliveries; what is kept
    /// nowhere is left out.
    private func open(
        _ entries: [SortedBatch.Entry<InboxRecord>],
        _ decider: Decider,
        _ persistence: Persistence
    ) async -> [SortedBatch.Entry<Opened>]? {
        let keys = Set(entries.map(\.work.key.recipient))
        let recipients = await persistence.insist { [directory] () throws(PostgresError) in
            try await directory.recipients(of: keys)
        }
        guard var recipients else { return nil }
        var translations = Translations(decider.catalogs)
        return entries.compactMap { entry in
            var record = entry.work
            var recipient = Recipient()
            if let place = recipients.index(forKey: record.key.recipient) {
                // Not written yet, but unread when its push arrives; so is what came before it in this batch.
                if let unread = recipients.values[place].unread { recipients.values[place].unread = unread + 1 }
                recipient = recipients.values[place]
            }
            record.words = translations.words(record.words, for: recipient)
            switch decider.open(record.key, record.words.content, for: recipient, index: entry.index) {
            case .nowhere(let reason):
                metrics.countUnrecorded(record.app, reason)
                return nil
            case .recorded(let lines, let parcels):
                record.deliveries = lines
                return .init(index: entry.index, work: Opened(record: record, parcels: parcels))
            }
        }
    }

    /// Which pairs go into which statement, by the bytes of their words.
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

    private static let pairsPerStatement = 1024
    private static let bytesPerStatement = 8 << 20
}
