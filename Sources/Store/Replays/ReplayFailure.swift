package import BellhopRules
import Postgres

/// An item that a replay could not resolve.
package struct ReplayFailure: Sendable {
    package let deadID: String
    package let outcome: ReplayOutcome
    package let reason: String
    /// The outcome's detail, or the item's current error.
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
