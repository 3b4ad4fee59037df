package import BellhopRules
import Postgres

/// A notification of another system, with the times that it had there.
package struct HistoricNotification: Sendable {
    /// The notification, without deliveries; its text's source timestamp is the time at which it was created.
    package let record: InboxRecord
    /// The time at which the user read it; `nil` if it is unread.
    package let readAt: Timestamp?

    package init(_ record: InboxRecord, readAt: Timestamp?) {
        self.record = record
        self.readAt = readAt
    }
}

/// The outcomes of an import, counted.
package struct HistoryOutcome: Sendable, Equatable {
    /// Notifications that were written.
    package var written = 0
    /// Notifications that were there before.
    package var existing = 0
    /// Notifications of users who were erased since.
    package var erased = 0

    package init() {}

    package static func += (sum: inout HistoryOutcome, other: HistoryOutcome) {
        sum.written += other.written
        sum.existing += other.existing
        sum.erased += other.erased
    }
}

extension WorkerStore {
    /// Writes notifications of another system in one transaction; a repetition changes nothing.
    ///
    /// No delivery is created, so nothing is sent.
    package func importHistory(_ history: [HistoricNotification]) async throws(StoreError) -> HistoryOutcome {
        guard !history.isEmpty else { return HistoryOutcome() }
        // Statements that write the same rows in the same order do not deadlock.
        let sorted = history.sorted { $0.record.id.number < $1.record.id.number }
        return try await pool.transaction { (connection) throws(StoreError) in
            let numbers = try UserNumbers.enrol(
                sorted.map(\.record.key.recipient),
                saidAt: sorted.map(\.record.words.saidAt),
                on: connection
            )
            let known = sorted.compactMap { notification in
                numbers[notification.record.key.recipient].map { number in
                    HistoricNotification(notification.record.numbered(number), readAt: notification.readAt)
                }
            }
            let columns = InboxColumns(of: known.map(\.record), sharing: false)
            let rows = try connection.run(InboxColumns.history, columns.parameters(readAt: known.map(\.readAt)))
            var outcome = HistoryOutcome()
            outcome.written = rows.count
            outcome.erased = sorted.count - known.count
            outcome.existing = known.count - rows.count
            return outcome
        }
    }
}
