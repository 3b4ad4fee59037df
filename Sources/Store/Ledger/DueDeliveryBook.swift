package import BellhopRules
package import Postgres

/// What is owed to one user and has fallen due: handed over whole, so that a digest stays together.
package struct DueGroup: Sendable {
    package let recipient: RecipientKey
    /// Of those that it was taken for; less urgent ones of the user come along.
    package let priority: Priority
    package fileprivate(set) var notifications: [NotificationKey]
}

/// A hand-over whose answer was lost: nobody knows what it has taken.
package struct LostTake: Sendable {
    package let priority: Priority
    /// Before it was sent.
    package let begin: ContinuousClock.Instant
    /// When its connection was found to be lost.
    package let end: ContinuousClock.Instant

    package init(priority: Priority, begin: ContinuousClock.Instant, end: ContinuousClock.Instant) {
        self.priority = priority
        self.begin = begin
        self.end = end
    }
}

/// Deliveries whose time has come, and those that nobody has taken care of for too long.
package struct DueDeliveryBook: Sendable {
    private let pool: PostgresPool
    private let grace: Duration

    /// A retry or a claim counts as stranded once it is overdue for longer than `grace`.
    package init(pool: PostgresPool, strandedAfter grace: Duration) {
        self.pool = pool
        self.grace = grace
    }

    /// Takes the groups with the oldest deliveries of a priority, of so many deliveries at most.
    ///
    /// Each becomes `pending` and due in ten minutes, so that no other scheduler takes it meanwhile and a hand-over that
    /// is lost is repeated. Any number may take at once: a user is in the hands of one, and what another statement holds
    /// is left to it. A group that alone is larger than `limit` is torn, and its rest is the next one's.
    ///
    /// Each priority is asked for by itself: however much has piled up of one, it does not keep the others waiting. What
    /// has been due for longer than `span` is not looked for; stranded lines are found only where that includes the grace.
    ///
    /// What the `dead` had claimed counts as stranded as soon as its lease has ended.
    package func take(
        _ priority: Priority,
        atMost limit: Int,
        within span: Duration = DueLook.whole,
        claimedBy dead: [Int64] = []
    ) async throws(PostgresError) -> DueItems<DueGroup> {
        let rows = try await pool.run(
            Self.take,
            [
                .integer(Int64(limit)), .integer(grace.milliseconds), .integer(priority.urgency),
                .integer(span.milliseconds), .integerArray(dead),
            ]
        )
        return DueItems(try Self.groups(rows, priority), left: try rows.optionalInteger(0, 3).map { .milliseconds($0) })
    }

    /// Takes once more what a `take` has taken whose answer was lost, and which may not even have ended by now.
    ///
    /// What has become due in ten minutes between its beginning and the loss is its own, or another scheduler's, and is then
    /// published twice, which does no harm. `now` is asked when the statement is about to be sent.
    package func takeAgain(
        _ lost: LostTake,
        claimedBy dead: [Int64] = [],
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) async throws(PostgresError) -> [DueGroup] {
        let rows = try await pool.withConnection { (connection) throws(PostgresError) in
            let now = now()
            let ages = [now - lost.begin + .seconds(1), now - lost.end].map { Parameter.integer($0.milliseconds) }
            return try connection.run(Self.takeAgain, ages + [.integerArray(dead)])
        }
        return try Self.groups(rows, lost.priority)
    }

    private static func groups(_ rows: Rows, _ priority: Priority) throws(PostgresError) -> [DueGroup] {
        var groups: [DueGroup] = []
        for row in rows.indices where try rows.optionalText(row, 0) != nil {
            guard var key = try rows.notificationKey(row) else { continue }
            key.recipient.number = try rows.personNumber(row, 4)
            if groups.last?.recipient == key.recipient {
                groups[groups.count - 1].notifications.append(key)
            } else {
                groups.append(DueGroup(recipient: key.recipient, priority: priority, notifications: [key]))
            }
        }
        return groups
    }

    /// What may be handed over: the state alone does not tell, since a retry comes back by itself, and a claimer that lives
    /// may settle after its lease.
    ///
    /// A claim is due when its lease ends, so its claimer has another minute.
    private static let isDue = """
        due_at IS NOT NULL AND sent_at IS NULL AND due_at <= now() AND (state IN ('w', 'p')
            OR state = 'r' AND due_at <= now() - $2::bigint * interval '1 ms'
            OR state = 's' AND (due_at <= now() - $2::bigint * interval '1 ms' - interval '1 min'
                                OR claim >> \(Claim.chanceBits) = ANY ($5::bigint[])))
        """

    /// How far ahead what is taken is due again.
    private static let ahead = "interval '10 min'"

    /// By `ledger_due`, which has only what is due in so many minutes there.
    private static let takeAgain = Statement(
        """
        WITH again AS MATERIALIZED (
            SELECT l.* FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
            CROSS JOIN LATERAL (
                SELECT person, id, target FROM ledger
                WHERE urgency = u.urgency AND sent_at IS NULL
                  AND due_at >= now() + \(ahead) - $1::bigint * interval '1 ms'
                  AND due_at <= now() + \(ahead) - $2::bigint * interval '1 ms'
                  AND (state = 'p' OR state = 's' AND claim >> \(Claim.chanceBits) = ANY ($3::bigint[]))
                ORDER BY due_at LIMIT 2000
                FOR UPDATE SKIP LOCKED
            ) AS l
        ), moved AS (
            UPDATE ledger d SET due_at = now() + \(ahead)
            FROM again a
            WHERE d.person = ANY (ARRAY[a.person]) AND d.id = a.id AND d.target = a.target
            RETURNING d.person, d.id
        )
        SELECT p.app, p.user_id, m.id, NULL::bigint, m.person
        FROM (SELECT DISTINCT person, id FROM moved) AS m
        CROSS JOIN LATERAL (SELECT app, user_id FROM people WHERE number = m.person OFFSET 0) AS p
        ORDER BY m.person, m.id
        """
    )

    /// The users come one after the other, the one that waits longest first, and what is due of each stands together: by an
    /// index that has nothing in it but what is owed, whatever else the ledger holds of them.
    ///
    /// What is left came due after the last that is taken; where none is, since others have them all in hand, with the
    /// first of them. The one row that says so is there even if nothing is taken.
    ///
    /// Nothing can be drawn in front of a sub-select that locks, so reading ends with the limit, and only the last user may
    /// be cut off by it.
    private static let take = Statement(
        """
        WITH oldest AS (
            SELECT person, due_at FROM ledger
            WHERE urgency = $3 AND \(DueLook.reaches("due_at", "$4")) AND \(isDue)
            ORDER BY due_at LIMIT $1
        ), held AS MATERIALIZED (
            SELECT person, due_at
            FROM (SELECT person, min(due_at) AS due_at FROM oldest GROUP BY person ORDER BY due_at, person) AS people
            WHERE pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' person ' || person, 0))
        ), due AS MATERIALIZED (
            SELECT d.person, d.id, d.target, h.due_at AS waiting_since, row_number() OVER () AS place
            FROM held h CROSS JOIN LATERAL (
                SELECT person, id, target FROM ledger
                WHERE person = ANY (ARRAY[h.person]) AND \(isDue)
                ORDER BY person, due_at
                FOR UPDATE SKIP LOCKED
            ) AS d
            LIMIT $1 + 1
        ), cut AS MATERIALIZED (
            SELECT c.person FROM due c
            WHERE c.place > $1 AND EXISTS (SELECT FROM due o WHERE o.person <> c.person)
        ), moved AS (
            UPDATE ledger d
            SET state = CASE d.state WHEN 's' THEN 's' ELSE 'p' END, due_at = now() + \(ahead)
            FROM due
            WHERE d.person = ANY (ARRAY[due.person]) AND d.id = due.id AND d.target = due.target
              AND NOT EXISTS (SELECT FROM cut WHERE cut.person = due.person)
            RETURNING d.person, d.id, due.waiting_since, \(DueLook.age(of: "due.waiting_since")) AS age
        )
        SELECT p.app, p.user_id, m.id, look.left, m.person
        FROM (
            SELECT CASE WHEN (SELECT count(*) FROM oldest) >= $1 OR EXISTS (SELECT FROM cut) THEN
                       coalesce((SELECT min(age) FROM moved), (SELECT max(\(DueLook.age(of: "due_at"))) FROM oldest))
                   END AS left
        ) AS look
        LEFT JOIN (SELECT DISTINCT person, id, waiting_since FROM moved) AS m ON true
        LEFT JOIN LATERAL (SELECT app, user_id FROM people WHERE number = m.person OFFSET 0) AS p ON true
        ORDER BY m.waiting_since, m.person, m.id
        """
    )
}

extension Priority {
    /// As the tables keep it, so that an index can put what is urgent first.
    package var urgency: Int64 {
        switch self {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }

    init(urgency: Int64) {
        self = urgency <= 0 ? .high : urgency == 1 ? .normal : .low
    }
}
