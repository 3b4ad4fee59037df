package import BellhopRules
package import Postgres
import ServiceRuntime

/// The tables `replays` and `replay_items`, as used by the scheduler to take replays, send their items and collect the
/// outcomes.
package struct ReplayStore: Sendable {
    let pool: PostgresPool
    /// A name that no other runner has.
    let runner: String
    private let horizon: ReplayHorizon

    package init(pool: PostgresPool, runner: String, horizon: ReplayHorizon) {
        self.pool = pool
        self.runner = runner
        self.horizon = horizon
    }

    /// Takes every replay that no scheduler runs, and extends the lease of the replays that this runner has.
    package func take(for lease: Duration) async throws(PostgresError) -> [ReplayRecord] {
        try await pool.run(Self.take, [.text(runner), .integer(lease.milliseconds)]).map(ReplayRecord.init)
    }

    /// Releases its replays, so that another scheduler need not wait for the end of the lease.
    package func release() async throws(PostgresError) {
        _ = try await pool.run("UPDATE replays SET runner_until = NULL WHERE runner = $1", [.text(runner)])
    }

    /// Returns the number of items in flight and whether items wait.
    package func load(of id: Int64) async throws(PostgresError) -> (underWay: Int, waiting: Bool) {
        let rows = try await pool.run(Self.load, [.integer(id)])
        return (try rows.number(0, 0), try rows.boolean(0, 1))
    }

    /// Returns the next waiting items, in the order of the replay; none if the replay was paused or taken over
    /// meanwhile.
    ///
    /// It returns at most `limit` items, and at most `DeadLetterStore.pageBytes` of bodies unless the first one alone
    /// is larger.
    package func next(of id: Int64, atMost limit: Int) async throws(PostgresError) -> [ReplayItem] {
        let bytes = Int64(DeadLetterStore.pageBytes)
        return try await pool.run(
            Self.next,
            [.integer(id), .integer(Int64(limit)), .text(runner), .integer(bytes)] + horizon.parameters
        ).map(ReplayItem.init)
    }

    /// Sets the number of items that may be sent next in a ramp.
    package func setRamp(_ size: Int, of id: Int64) async throws(PostgresError) {
        _ = try await pool.run(
            "UPDATE replays SET ramp = $2::integer WHERE id = $1 AND runner = $3",
            [.integer(id), .integer(Int64(size)), .text(runner)]
        )
    }

    private static let take = Statement(
        """
        UPDATE replays r SET runner = $1, runner_until = now() + $2::bigint * interval '1 ms'
        WHERE r.finished_at IS NULL AND (r.runner = $1 OR r.runner_until IS NULL OR r.runner_until < now())
          AND (r.state <> 'running' OR r.not_before IS NULL OR r.not_before <= now())
        RETURNING \(ReplayRecord.columns)
        """
    )

    private static let load = Statement(
        """
        SELECT (SELECT count(*) FROM replay_items WHERE replay_id = $1 AND state = 'sent'),
               EXISTS (SELECT FROM replay_items WHERE replay_id = $1 AND state = 'waiting')
        """,
        effect: .reads
    )

    private static let next = Statement(
        """
        WITH next AS (
            SELECT i.position, i.dead_id,
                   CASE WHEN d.notification_id IS NULL THEN octet_length(d.body) ELSE 0 END AS bytes
            FROM replay_items i JOIN dead_letters d ON d.dead_id = ANY (ARRAY[i.dead_id])
            WHERE i.replay_id = $1 AND i.state = 'waiting'
              AND EXISTS (SELECT FROM replays r WHERE r.id = $1 AND r.state = 'running' AND r.runner = $3)
            ORDER BY i.position LIMIT $2
        ), page AS (
            SELECT position, dead_id, sum(bytes) OVER upto AS bytes, row_number() OVER upto AS place
            FROM next WINDOW upto AS (ORDER BY position)
        )
        SELECT p.position, p.dead_id, d.replays::bigint AS replays, d.notification_id IS NOT NULL AS is_delivery,
               CASE WHEN d.notification_id IS NULL THEN d.body ELSE '' END AS body, d.origin_exchange,
               d.origin_routing_key, d.properties, d.headers, d.first_failed_at,
               d.first_failed_at < \(ReplayHorizon.earliest("$5", "$6")) AS is_too_old
        FROM page p JOIN dead_letters d ON d.dead_id = ANY (ARRAY[p.dead_id])
        WHERE p.place = 1 OR p.bytes <= $4::bigint
        ORDER BY p.position
        """,
        effect: .reads
    )
}

/// One item of a replay that is ready to be sent.
package struct ReplayItem: Sendable {
    package let position: Int64
    package let deadID: String
    /// The number of replays of the item, including this one, from 1.
    package let round: Int
    /// When it first failed, approximately when it arrived.
    package let arrivedAt: Timestamp
    /// Whether it has left the horizon since the replay began.
    package let isTooOld: Bool
    /// The original message; `nil` for a delivery, whose data is in the database.
    package let message: DeadLetterItem.Origin?

    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        position = try rows.integer(row, "position")
        deadID = try rows.text(row, "dead_id")
        round = try rows.number(row, "replays") + 1
        arrivedAt = try rows.moment(row, "first_failed_at")
        isTooOld = try rows.boolean(row, "is_too_old")
        message = try rows.boolean(row, "is_delivery") ? nil : try DeadLetterItem.Origin(rows, row)
    }
}
