import BellhopRules
package import Postgres

/// The deliveries in the ledger that wait for capacity of their outlet.
///
/// Such a delivery is `deferred` with an `outlet` and no `due_at`. The settlement that defers it and the pull each
/// write it once. Only one pull per outlet runs at a time, for the duration of the statement, so that two pulls cannot
/// split a digest.
extension WorkerStore {
    /// Returns the first waiting delivery of each place, in one statement.
    package func heads(_ looks: [BacklogPoll]) async throws(PostgresError) -> OldestEntries {
        guard !looks.isEmpty else { return OldestEntries(oldest: [], now: Timestamp(clamping: 0)) }
        let rows = try await pool.run(
            Self.heads,
            [
                .textArray(looks.map(\.place.key.text)), .integerArray(looks.map(\.place.priority.urgency)),
                .instantArray(looks.map { $0.since?.microseconds }),
            ]
        )
        var oldest: [Timestamp?] = Array(repeating: nil, count: looks.count)
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: looks.indices) else { continue }
            oldest[place] = try rows.timestamp(row, 1)
        }
        return OldestEntries(oldest: oldest, now: try rows.moment(0, 2))
    }

    /// Claims the next `count` deliveries of a place, in one statement, and the rest of any digest among them.
    ///
    /// A digest's deliveries are claimed together, even if their priorities differ.
    package func pull(
        _ look: BacklogPoll,
        atMost count: Int,
        as claim: Claim,
        of users: UserFilter = .everyone
    ) async throws(PostgresError) -> PullResult {
        try await self.claim(Self.pull, look, count, claim, users)
    }

    /// Returns the users whose deliveries `pull` would claim, without claiming them.
    package func head(
        _ look: BacklogPoll,
        atMost count: Int,
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead {
        let rows = try await pool.run(
            Self.oldestFirst,
            [
                .text(look.place.key.text), .integer(look.place.priority.urgency),
                .instant(look.since?.microseconds ?? Self.beginning), .integer(Int64(count)),
            ] + users.parameters
        )
        return try QueueHead(rows)
    }

    /// Claims one delivery as a probe, which tests whether the provider accepts messages again.
    ///
    /// It is chosen at random from the oldest and the newest deliveries, and a reached device is preferred.
    ///
    /// If the probe were always the first delivery, a single invalid device could keep the breaker open indefinitely.
    package func scout(
        _ look: BacklogPoll,
        as claim: Claim,
        of users: UserFilter = .everyone
    ) async throws(PostgresError) -> PullResult {
        try await self.claim(Self.scout, look, Self.candidates, claim, users)
    }

    /// Returns the deliveries that a pull or a probe claimed if its answer was lost.
    ///
    /// Their turns are lost, too.
    ///
    /// The result is `isBusy` while that statement may still be running.
    package func regain(_ backlog: BacklogKey, as claim: Claim) async throws(PostgresError) -> PullResult {
        let rows = try await pool.run(
            Self.regain,
            [.text(backlog.text), .integer(claim.number), .integer(lease.milliseconds)]
        )
        return try Self.pulled(rows)
    }

    private func claim(
        _ statement: Statement,
        _ look: BacklogPoll,
        _ count: Int,
        _ claim: Claim,
        _ users: UserFilter
    ) async throws(PostgresError) -> PullResult {
        let rows = try await pool.run(
            statement,
            [
                .text(look.place.key.text), .integer(look.place.priority.urgency),
                .instant(look.since?.microseconds ?? Self.beginning), .integer(Int64(count)),
                .integer(claim.number), .integer(lease.milliseconds),
            ] + users.parameters
        )
        return try Self.pulled(rows)
    }

    private static func pulled(_ rows: Rows) throws(PostgresError) -> PullResult {
        guard !rows.isEmpty, try rows.boolean(0, 0) else { return .isBusy }
        return .lines(
            try rows.compactMap { (rows, row) throws(PostgresError) in try ClaimedDelivery(pulled: rows, row) }
        )
    }

    /// The number of candidates for a probe from each end.
    private static let candidates = 16

    /// Returns the backlogs with waiting deliveries, whether or not a worker serves their outlets.
    package func backlogNames() async throws(PostgresError) -> [String] {
        try await pool.run(Self.names, []).texts()
    }

    /// Makes deliveries due that have waited for longer than `age` in a backlog without a worker, so that they are
    /// released and the rules run again.
    ///
    /// Returns their number.
    package func release(
        _ name: String,
        atMost limit: Int,
        after age: Duration
    ) async throws(PostgresError) -> Int {
        let parameters: [Parameter] = [.text(name), .integer(Int64(limit)), .integer(age.milliseconds)]
        return try await pool.run(Self.release, parameters).affectedCount
    }

    /// A time before any turn.
    private static let beginning: Int64 = 0

    private static let heads = Statement(
        """
        SELECT k.position, h.queued_at, now()
        FROM unnest($1::text[], $2::bigint[], $3::timestamptz[]) WITH ORDINALITY
            AS k (outlet, urgency, since, position)
        LEFT JOIN LATERAL (
            SELECT d.queued_at FROM ledger d
            WHERE d.outlet = k.outlet AND d.urgency = k.urgency AND d.queued_at >= coalesce(k.since, '-infinity')
            ORDER BY d.queued_at LIMIT 1
        ) AS h ON true
        """,
        effect: .reads
    )

    private static let pull = Statement(
        """
        WITH \(mine), chosen AS MATERIALIZED (
            SELECT h.* FROM mine m CROSS JOIN LATERAL \(end("queued_at")) AS h
            WHERE m.is_mine
        ), \(claimed)
        """
    )

    private static let scout = Statement(
        """
        WITH \(mine), oldest AS MATERIALIZED (
            SELECT h.* FROM mine m CROSS JOIN LATERAL \(end("queued_at")) AS h
            WHERE m.is_mine
        ), newest AS MATERIALIZED (
            SELECT h.* FROM mine m CROSS JOIN LATERAL \(end("queued_at DESC")) AS h
            WHERE m.is_mine
        ), chosen AS MATERIALIZED (
            SELECT h.* FROM (SELECT * FROM oldest UNION SELECT * FROM newest) AS h
            ORDER BY EXISTS (
                SELECT FROM (SELECT app, user_id, reached FROM people WHERE number = h.person OFFSET 0) AS p
                CROSS JOIN LATERAL (
                    SELECT id, device_token, unreached_since, reached_at FROM push_subscriptions
                    WHERE profile_id = p.user_id AND app = p.app AND id = target_name(h.target) OFFSET 0
                ) AS s
                WHERE s.reached_at IS NOT NULL
                   OR position(device_mark(s.id, s.device_token, s.unreached_since) IN p.reached) > 0
            ) DESC, random()
            LIMIT 1
        ), \(claimed)
        """
    )

    /// Reads the index `ledger_due`, which contains claims with the end of their leases.
    private static let regain = Statement(
        """
        WITH \(mine), held AS MATERIALIZED (
            SELECT l.* FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
            CROSS JOIN LATERAL (
                SELECT person, id, target, attempts, unknown_sends, decision ->> '\(Wait.slotKey)' AS slot,
                       reason IS NOT DISTINCT FROM \(WaitReason.held.sql) AS was_held
                FROM ledger
                WHERE urgency = u.urgency AND sent_at IS NULL AND due_at > now() - interval '6 min'
                  AND due_at <= now() + $3::bigint * interval '1 ms' + \(Claim.afterLease)
                  AND state = 's' AND claim = $2
                ORDER BY due_at LIMIT 2000
            ) AS l
        )
        SELECT m.is_mine, p.app, p.user_id, h.id, h.target, h.person, h.attempts::bigint, h.unknown_sends::bigint, h.slot,
               NULL::timestamptz, h.was_held
        FROM mine m
        LEFT JOIN held h ON m.is_mine
        LEFT JOIN LATERAL (SELECT app, user_id FROM people WHERE number = h.person OFFSET 0) AS p ON true
        """
    )

    /// The lock on the backlog.
    ///
    /// A second process does not wait for it.
    private static let mine = """
        mine AS MATERIALIZED (
            SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' backlog ' || $1, 0)) AS is_mine
        )
        """

    /// Selects `$4` deliveries from one end of the backlog.
    private static func end(_ order: String) -> String {
        """
        (SELECT person, id, target, queued_at, decision ->> '\(Wait.slotKey)' AS slot
         FROM ledger
         WHERE \(waits(filteredFrom: 7))
         ORDER BY \(order) LIMIT $4
         FOR UPDATE SKIP LOCKED)
        """
    }

    private static func waits(filteredFrom first: Int) -> String {
        """
        outlet = $1 AND urgency = $2 AND queued_at >= $3::timestamptz
          AND \(UserFilter.admits("person", at: "queued_at", first))
        """
    }

    private static let oldestFirst = Statement(
        "SELECT person, queued_at FROM ledger WHERE \(waits(filteredFrom: 5)) ORDER BY queued_at LIMIT $4",
        effect: .reads
    )

    /// The deliveries of a digest have one turn, whatever their priorities.
    ///
    /// This turn finds the digest's deliveries beyond the limit.
    private static let claimed = """
        rest AS MATERIALIZED (
            SELECT r.*, g.slot
            FROM (SELECT DISTINCT person, target, queued_at, slot FROM chosen WHERE slot IS NOT NULL) AS g
            CROSS JOIN LATERAL (
                SELECT person, id, target, queued_at FROM ledger
                WHERE outlet = $1 AND urgency = ANY (ARRAY[0, 1, 2]) AND queued_at = g.queued_at
                  AND person + 0 = g.person AND target + 0 = g.target
                  AND decision ->> '\(Wait.slotKey)' = g.slot
                FOR UPDATE SKIP LOCKED
            ) AS r
        ), whole AS MATERIALIZED (
            SELECT person, id, target, queued_at, slot FROM chosen
            UNION
            SELECT person, id, target, queued_at, slot FROM rest
        ), taken AS (
            UPDATE ledger d
            SET state = 's', claim = $5, updated_at = now(), outlet = NULL, queued_at = NULL,
                due_at = now() + $6::bigint * interval '1 ms' + \(Claim.afterLease)
            FROM whole w
            WHERE d.person = ANY (ARRAY[w.person]) AND d.id = w.id AND d.target = w.target
            RETURNING d.person, d.id, d.target, d.attempts::bigint AS attempts,
                      d.unknown_sends::bigint AS unknown_sends, w.slot, w.queued_at,
                      d.reason IS NOT DISTINCT FROM \(WaitReason.held.sql) AS was_held
        )
        SELECT m.is_mine, p.app, p.user_id, t.id, t.target, t.person, t.attempts, t.unknown_sends, t.slot, t.queued_at,
               t.was_held
        FROM mine m
        LEFT JOIN taken t ON true
        LEFT JOIN LATERAL (SELECT app, user_id FROM people WHERE number = t.person OFFSET 0) AS p ON true
        ORDER BY t.queued_at
        """

    private static let names = Statement(
        """
        WITH \(WaitingBacklog.loose)
        SELECT outlet FROM names WHERE outlet IS NOT NULL
        """,
        effect: .reads
    )

    private static let release = Statement(
        """
        WITH waiting AS MATERIALIZED (
            SELECT person, id, target FROM ledger
            WHERE outlet = $1 AND queued_at < now() - $3::bigint * interval '1 ms'
              AND updated_at < now() - $3::bigint * interval '1 ms'
            ORDER BY urgency, queued_at LIMIT $2
            FOR UPDATE SKIP LOCKED
        )
        UPDATE ledger d SET outlet = NULL, queued_at = NULL, due_at = now()
        FROM waiting w
        WHERE d.person = ANY (ARRAY[w.person]) AND d.id = w.id AND d.target = w.target
        """
    )
}
