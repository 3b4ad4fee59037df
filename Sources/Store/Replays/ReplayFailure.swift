package import BellhopRules
import Postgres

/// An item for which a replay was of no use.
package struct ReplayFailure: Sendable {
    package let deadID: String
    package let outcome: ReplayOutcome
    package let reason: String
    /// What came back of it, or what its item says now.
    package let error: String
    package let at: Timestamp

    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        deadID = try rows.text(row, 0)
        outcome = ReplayOutcome(rawValue: try rows.text(row, 1)) ?? .failed
        error = try rows.text(row, 2)
        reason = try rows.text(row, 3)
        at = try rows.moment(row, 4)
    }
}
