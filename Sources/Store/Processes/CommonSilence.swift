import Postgres
import ServiceRuntime

/// A time without a heartbeat of any process, as after an outage of the database, in which none could be written.
///
/// The processes of such a time do not hang: their silence has a common cause. The database's own times show it, also if
/// this process has not observed the outage.
package enum CommonSilence: Sendable, Equatable {
    /// No process has written a heartbeat for this time.
    case lasting(Duration)
    /// The first process has written a heartbeat again this long ago; the others follow.
    case over(Duration)

    /// Reads the heartbeats of all processes; `nil` if they were written as usual.
    init?(of pool: PostgresPool) async throws(PostgresError) {
        let rows = try await pool.run(Self.statement, [])
        let silence = Duration.seconds(try rows.optionalDouble(0, 0) ?? 0)
        let resumed = try rows.optionalDouble(0, 1).map { Duration.seconds(max(0, $0)) }
        if silence > HeartbeatStore.commonSilence {
            self = .lasting(silence)
        } else if let resumed, resumed < HeartbeatStore.commonSilence {
            self = .over(resumed)
        } else {
            return nil
        }
    }

    private static let statement = Statement(
        """
        SELECT extract(epoch FROM now() - max(seen_at))::double precision,
               extract(epoch FROM now())::double precision
                   - max((figures -> '\(Heartbeat.resumedKey)' ->> 0)::double precision) / 1000000
        FROM processes
        """,
        effect: .reads
    )
}
