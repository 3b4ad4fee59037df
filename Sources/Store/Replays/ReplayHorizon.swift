package import BellhopRules
package import Postgres
import ServiceRuntime

/// The maximum age of a dead letter's first failure for a replay or an import.
///
/// The caller's settings give one limit and the rows deleted by retention another, since a scheduler may run with a
/// shorter retention period. The stricter limit applies.
package struct ReplayHorizon: Sendable, Equatable {
    /// The maximum time since the first failure.
    package let span: Duration
    /// The time before its first failure at which a dead letter's event may have been recorded.
    ///
    /// Records that detect duplicates must exist for that much longer.
    package let lead: Duration

    package init(span: Duration, lead: Duration) {
        self.span = span
        self.lead = lead
    }

    /// The parameters for ``earliest(_:_:)``.
    var parameters: [Parameter] { [.integer(span.milliseconds), .integer(lead.milliseconds)] }

    /// Returns the SQL for the earliest first failure within the horizon, with two names of ``parameters``.
    static func earliest(_ span: String, _ lead: String) -> String {
        "greatest(\(bySetting(span)), \(byRetention(lead)))"
    }

    static func bySetting(_ span: String) -> String { "now() - \(span)::bigint * interval '1 ms'" }

    /// Null if retention has never deleted anything.
    static func byRetention(_ lead: String) -> String {
        "(SELECT max(up_to) FROM retired) + \(lead)::bigint * interval '1 ms'"
    }
}

/// The current limit of a ``ReplayHorizon``.
package struct ReplayCutoff: Sendable, Equatable {
    /// Items with an earlier first failure are not replayed.
    package let earliest: Timestamp
    /// Whether retention has deleted more than the settings imply.
    package let isByRetention: Bool
}

extension DeadLetterAdmin {
    /// Returns the current limit by the settings and by retention, according to the database clock.
    package func cutoff(_ horizon: ReplayHorizon) async throws(PostgresError) -> ReplayCutoff {
        let sql = "SELECT \(ReplayHorizon.bySetting("$1")), \(ReplayHorizon.byRetention("$2"))"
        let rows = try await pool.run(Statement(sql, effect: .reads), horizon.parameters)
        let bySetting = try rows.moment(0, 0)
        guard let byRetention = try rows.timestamp(0, 1), byRetention > bySetting else {
            return ReplayCutoff(earliest: bySetting, isByRetention: false)
        }
        return ReplayCutoff(earliest: byRetention, isByRetention: true)
    }
}
