package import BellhopRules
package import Postgres
import ServiceRuntime

/// How old the first failure of a letter may be for it to go out, or come in, once more.
///
/// The settings of whoever asks say one thing, what retention has let go of another: a scheduler may run with shorter ones.
/// The stricter of both holds.
package struct ReplayHorizon: Sendable, Equatable {
    /// From the first failure on.
    package let span: Duration
    /// How long before its first failure a letter's event may have been recorded: so much more of what guards against doubles
    /// has to be there.
    package let lead: Duration

    package init(span: Duration, lead: Duration) {
        self.span = span
        self.lead = lead
    }

    /// For ``earliest(_:_:)``.
    var parameters: [Parameter] { [.integer(span.milliseconds), .integer(lead.milliseconds)] }

    /// The earliest first failure that is within it, in SQL; two names of ``parameters``.
    static func earliest(_ span: String, _ lead: String) -> String {
        "greatest(\(bySetting(span)), \(byRetention(lead)))"
    }

    static func bySetting(_ span: String) -> String { "now() - \(span)::bigint * interval '1 ms'" }

    /// Null where retention has never let go of anything.
    static func byRetention(_ lead: String) -> String {
        "(SELECT max(up_to) FROM retired) + \(lead)::bigint * interval '1 ms'"
    }
}

/// Where a ``ReplayHorizon`` lies at this moment.
package struct ReplayCutoff: Sendable, Equatable {
    /// What failed first before it stays where it is.
    package let earliest: Timestamp
    /// Whether retention has let go of more than the settings would have it.
    package let isByRetention: Bool
}

extension DeadLetterDesk {
    /// What is too old now, by the settings and by what retention has let go of, as the database's clock goes.
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
