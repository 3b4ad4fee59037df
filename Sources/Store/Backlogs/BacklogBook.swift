package import BellhopRules
package import Postgres

/// What waits in the ledger for its outlet to have room.
///
/// Such a line is `deferred` with an `outlet`, and no `due_at`: whoever settles it so writes it once, whoever pulls it once
/// more. Of an outlet only one pulls at a time, for as long as the statement takes, so that nothing that belongs together
/// is taken apart by two.
package struct BacklogBook: Sendable {
    private let pool: PostgresPool
    private let lease: Duration

    /// `lease` is how long a claim holds.
    package init(pool: PostgresPool, lease: Duration) {
        self.pool = pool
        self.lease = lease
    }

    /// Where to look, and from what turn on; nil for the very beginning.
    ///
    /// Whoever remembers how far it has come reads none of the dead entries that pulls leave at the head of the index while
    /// nobody may remove them.
    package struct Look: Sendable {
        package let place: BacklogPlace
        package let since: Timestamp?

        package init(_ place: BacklogPlace, since: Timestamp?) {
            self.place = place
            self.since = since
        }
    }

    /// What was found at each place that was asked for, in their order.
    package struct Heads: Sendable {
        /// The turn of the first that waits; nil where none does.
        package let oldest: [Timestamp?]
        /// The database's clock.
        package let now: Timestamp

        package init(oldest: [Timestamp?], now: Timestamp) {
            self.oldest = oldest
            self.now = now
        }
    }

    /// Asks in one statement who is first in each of these.
    package func heads(_ looks: [Look]) async throws(PostgresError) -> Heads {
        guard !looks.isEmpty else { return Heads(oldest: [], now: Timestamp(clamping: 0)) }
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
        return Heads(oldest: oldest, now: try rows.moment(0, 2))
    }

    /// What a pull brought.
    package enum Pulled: Sendable {
        /// Claimed, the longest waiting first; nothing where nothing waits there that is free to be had.
        case lines([ClaimedDelivery])
        /// Another is pulling from this backlog at this moment.
        case isBusy
    }

    /// Claims the next lines of a place, in one statement: as many as are wanted, but for the rest of a digest.
    ///
    /// The lines of one digest come together, also those of another priority.
    package func pull(_ look: Look, atMost count: Int, as claim: Claim) async throws(PostgresError) -> Pulled {
        try await self.claim(Self.pull, look, count, claim)
    }

    /// Claims one line that is to find out whether its provider takes messages again: by chance one of those that wait
    /// longest or came last, and of those a device's that was reached before, where there is one.
    ///
    /// Were it always the first, a single device that is really dead could keep the way closed for ever.
    package func scout(_ look: Look, as claim: Claim) async throws(PostgresError) -> Pulled {
        try await self.claim(Self.scout, look, Self.candidates, claim)
    }

    /// What a pull or a scout under this claim has brought whose answer was lost; their turns are lost with it.
    ///
    /// `isBusy` while it may still be under way.
    package func regain(_ backlog: BacklogKey, as claim: Claim) async throws(PostgresError) -> Pulled {
        let rows = try await pool.run(
            Self.regain,
            [.text(backlog.text), .integer(claim.number), .integer(lease.milliseconds)]
        )
        return try Self.pulled(rows)
    }

    private func claim(
        _ statement: Statement,
        _ look: Look,
        _ count: Int,
        _ claim: Claim
    ) async throws(PostgresError) -> Pulled {
        let rows = try await pool.run(
            statement,
            [
                .text(look.place.key.text), .integer(look.place.priority.urgency),
                .instant(look.since?.microseconds ?? Self.beginning), .integer(Int64(count)),
                .integer(claim.number), .integer(lease.milliseconds),
            ]
        )
        return try Self.pulled(rows)
    }

    private static func pulled(_ rows: Rows) throws(PostgresError) -> Pulled {
        guard !rows.isEmpty, try rows.boolean(0, 0) else { return .isBusy }
        return .lines(
            try rows.compactMap { (rows, row) throws(PostgresError) in try ClaimedDelivery(pulled: rows, row) }
        )
    }

    /// From either end.
    private static let candidates = 16

    /// The backlogs in which something waits, whoever serves their outlets.
    package func names() async throws(PostgresError) -> [String] {
        try await pool.run(Self.names, []).texts()
    }

    /// Has what waits for so long in a backlog that nobody serves handed over and decided anew; the number of lines.
    package func release(
        _ name: String,
        atMost limit: Int,
        after age: Duration
    ) async throws(PostgresError) -> Int {
        let parameters: [Parameter] = [.text(name), .integer(Int64(limit)), .integer(age.milliseconds)]
        return try await pool.run(Self.release, parameters).affectedCount
    }

    /// Before anything that ever waited.
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
                SELECT FROM (SELECT app, user_id FROM people WHERE number = h.person OFFSET 0) AS p
                CROSS JOIN LATERAL (
                    SELECT reached_at FROM push_subscriptions
                    WHERE profile_id = p.user_id AND app = p.app AND id = target_name(h.target) OFFSET 0
                ) AS s
                WHERE s.reached_at IS NOT NULL) DESC, random()
            LIMIT 1
        ), \(claimed)
        """
    )

    /// By `ledger_due`, in which claims stand with the ends of their leases.
    private static let regain = Statement(
        """
        WITH \(mine), held AS MATERIALIZED (
            SELECT l.* FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
            CROSS JOIN LATERAL (
                SELECT person, id, target, attempts, unknown_sends, decision ->> '\(Wait.slotKey)' AS slot,
                       reason IS NOT DISTINCT FROM '\(HoldBook.reason)' AS was_held
                FROM ledger
                WHERE urgency = u.urgency AND sent_at IS NULL AND due_at > now()
                  AND due_at <= now() + $3::bigint * interval '1 ms' + \(LedgerStatements.afterLease)
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

    /// Whoever comes second leaves it to the first.
    private static let mine = """
        mine AS MATERIALIZED (
            SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' backlog ' || $1, 0)) AS is_mine
        )
        """

    /// So many from one end.
    private static func end(_ order: String) -> String {
        """
        (SELECT person, id, target, queued_at, decision ->> '\(Wait.slotKey)' AS slot
         FROM ledger
         WHERE outlet = $1 AND urgency = $2 AND queued_at >= $3::timestamptz
         ORDER BY \(order) LIMIT $4
         FOR UPDATE SKIP LOCKED)
        """
    }

    /// The lines of a digest have one turn, whatever their priorities: it leads to those that the limit would leave behind.
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
                due_at = now() + $6::bigint * interval '1 ms' + \(LedgerStatements.afterLease)
            FROM whole w
            WHERE d.person = ANY (ARRAY[w.person]) AND d.id = w.id AND d.target = w.target
            RETURNING d.person, d.id, d.target, d.attempts::bigint AS attempts,
                      d.unknown_sends::bigint AS unknown_sends, w.slot, w.queued_at,
                      d.reason IS NOT DISTINCT FROM '\(HoldBook.reason)' AS was_held
        )
        SELECT m.is_mine, p.app, p.user_id, t.id, t.target, t.person, t.attempts, t.unknown_sends, t.slot, t.queued_at,
               t.was_held
        FROM mine m
        LEFT JOIN taken t ON true
        LEFT JOIN LATERAL (SELECT app, user_id FROM people WHERE number = t.person OFFSET 0) AS p ON true
        ORDER BY t.queued_at
        """

    /// When the first of each of the `names` was recorded: the first of each priority says it, however many there are.
    static let oldest = """
        CROSS JOIN LATERAL (
            SELECT min(f.queued_at) AS oldest
            FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
            CROSS JOIN LATERAL (
                SELECT d.queued_at FROM ledger d WHERE d.outlet = n.outlet AND d.urgency = u.urgency
                ORDER BY d.queued_at LIMIT 1
            ) AS f
        ) AS o
        """

    /// From one name to the next, however many lines have it.
    static let loose = """
        RECURSIVE names AS (
            (SELECT d.outlet FROM ledger d WHERE d.outlet IS NOT NULL ORDER BY d.outlet LIMIT 1)
            UNION ALL
            SELECT (SELECT d.outlet FROM ledger d WHERE d.outlet > n.outlet ORDER BY d.outlet LIMIT 1)
            FROM names n WHERE n.outlet IS NOT NULL
        )
        """

    private static let names = Statement(
        """
        WITH \(loose)
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

extension ClaimedDelivery {
    /// From a row of a pull; nil for one that says only whose the backlog is.
    fileprivate init?(pulled rows: Rows, _ row: Int) throws(PostgresError) {
        guard var recipient = RecipientKey(try rows.optionalText(row, 1), try rows.optionalText(row, 2)),
            let notification = try rows.optionalInteger(row, 3), let target = try rows.optionalInteger(row, 4)
        else { return nil }
        recipient.number = try rows.personNumber(row, 5)
        let key = DeliveryKey(
            NotificationKey(recipient: recipient, notification: NotificationID(number: notification)),
            target: target
        )
        self.init(
            key: key,
            attempts: try rows.number(row, 6),
            outcomeWasUnknown: try rows.integer(row, 7) > 0,
            digest: try rows.optionalText(row, 8).flatMap(Timestamp.init(validating:)),
            queuedAt: try rows.timestamp(row, 9),
            wasHeld: try rows.boolean(row, 10)
        )
    }
}
