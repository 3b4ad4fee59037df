package import BellhopRules
package import Postgres

/// One user's due deliveries, released together so that a digest is not split.
package struct DueGroup: Sendable {
    package let recipient: UserKey
    /// The priority for which the group was taken; it may contain less urgent notifications of the user.
    package let priority: Priority
    package fileprivate(set) var notifications: [NotificationKey]
}

/// A take whose answer was lost, so that its result is unknown.
package struct LostTake: Sendable {
    package let priority: Priority
    /// A time before the statement was sent.
    package let begin: ContinuousClock.Instant
    /// When the loss of its connection was detected.
    package let end: ContinuousClock.Instant

    package init(priority: Priority, begin: ContinuousClock.Instant, end: ContinuousClock.Instant) {
        self.priority = priority
        self.begin = begin
        self.end = end
    }
}

/// Takes due and stranded deliveries from the ledger, so that they can be released.
package struct DueDeliveryStore: Sendable {
    private let pool: PostgresPool
    private let grace: Duration

    /// Creates a book in which a retry or a claim counts as stranded if it is overdue for longer than `grace`.
    package init(pool: PostgresPool, strandedAfter grace: Duration) {
        self.pool = pool
        self.grace = grace
    }

    /// Takes the groups with the oldest deliveries of a priority, at most `limit` deliveries.
    ///
    /// Each delivery becomes `pending` (a claimed one stays `sending`) and is due again in ten minutes. Meanwhile no
    /// other scheduler takes it, and a lost release is repeated after that time. Any number of schedulers may take
    /// concurrently: each user is locked by one of them, and rows that another statement has locked are skipped. If one
    /// group alone is larger than `limit`, it is split, and the next call takes the rest.
    ///
    /// Each priority has a separate query, so that a large backlog of one priority does not delay the others.
    /// Deliveries that have been due for longer than `span` are not searched for. Stranded deliveries are found only if
    /// `span` includes the grace period.
    ///
    /// A claim of a process in `dead` counts as stranded as soon as its lease has ended.
    package func take(
        _ priority: Priority,
        atMost limit: Int,
        within span: Duration = DuePoll.whole,
        claimedBy dead: [Int64] = [],
        of users: UserFilter = .everyone
    ) async throws(PostgresError) -> DuePollResult<DueGroup> {
        let rows = try await pool.run(Self.take, parameters(priority, limit, span, dead, users))
        return DuePollResult(
            try Self.groups(rows, priority),
            left: try rows.optionalInteger(0, 3).map { .milliseconds($0) }
        )
    }

    /// Returns the users whose groups `take` would take, without taking them.
    package func head(
        _ priority: Priority,
        atMost limit: Int,
        within span: Duration,
        claimedBy dead: [Int64],
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead {
        try QueueHead(try await pool.run(Self.oldestFirst, parameters(priority, limit, span, dead, users)))
    }

    private func parameters(
        _ priority: Priority,
        _ limit: Int,
        _ span: Duration,
        _ dead: [Int64],
        _ users: UserFilter
    ) -> [Parameter] {
        [
            .integer(Int64(limit)), .integer(grace.milliseconds), .integer(priority.urgency),
            .integer(span.milliseconds), .integerArray(dead),
        ] + users.parameters
    }

    /// Takes the deliveries of an earlier `take` again, if its answer was lost.
    ///
    /// That `take` may still be running.
    ///
    /// The statement selects deliveries that became due in ten minutes between the start of the lost `take` and its
    /// loss. They belong to that `take` or to another scheduler's. In the second case they are published twice, which
    /// is harmless. `now` is evaluated immediately before the statement is sent.
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

    /// The condition for a release.
    ///
    /// The state alone is not sufficient, since a retry returns without a release and a live claimer may settle after
    /// its lease.
    ///
    /// A claim is due when its lease ends, so that its claimer has another minute.
    private static let isDue = """
        due_at IS NOT NULL AND sent_at IS NULL AND due_at <= now() AND (state IN ('w', 'p')
            OR state = 'r' AND due_at <= now() - $2::bigint * interval '1 ms'
            OR state = 's' AND (due_at <= now() - $2::bigint * interval '1 ms' - interval '1 min'
                                OR claim >> \(Claim.chanceBits) = ANY ($5::bigint[])))
        """

    /// The deliveries of a priority that have been due for the longest time.
    private static let oldest = """
        SELECT person, due_at FROM ledger
        WHERE urgency = $3 AND \(DuePoll.reaches("due_at", "$4")) AND \(isDue) AND \(UserFilter.admits("person", at: "due_at", 6))
        ORDER BY due_at LIMIT $1
        """

    private static let oldestFirst = Statement(oldest, effect: .reads)

    /// The time after which a taken delivery is due again.
    private static let ahead = "interval '10 min'"

    /// Reads the index `ledger_due`, in which only few deliveries are due at that distance.
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

    /// Users are ordered by waiting time, the longest first, and each user's due deliveries are adjacent.
    ///
    /// The query uses an index that contains open work only, so that a user's other ledger rows do not matter.
    ///
    /// `left` is the age of the last delivery taken; any remaining deliveries became due after it. If none was taken
    /// because others have locked all of them, it is the age of the oldest one. The row with `left` is returned even if
    /// nothing is taken.
    ///
    /// No limit can be pushed down into a subselect that locks rows. Reading therefore ends with the limit, and only
    /// the last user's group may be cut.
    private static let take = Statement(
        """
        WITH oldest AS (\(oldest)), held AS MATERIALIZED (
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
            RETURNING d.person, d.id, due.waiting_since, \(DuePoll.age(of: "due.waiting_since")) AS age
        )
        SELECT p.app, p.user_id, m.id, look.left, m.person
        FROM (
            SELECT CASE WHEN (SELECT count(*) FROM oldest) >= $1 OR EXISTS (SELECT FROM cut) THEN
                       coalesce((SELECT min(age) FROM moved), (SELECT max(\(DuePoll.age(of: "due_at"))) FROM oldest))
                   END AS left
        ) AS look
        LEFT JOIN (SELECT DISTINCT person, id, waiting_since FROM moved) AS m ON true
        LEFT JOIN LATERAL (SELECT app, user_id FROM people WHERE number = m.person OFFSET 0) AS p ON true
        ORDER BY m.waiting_since, m.person, m.id
        """
    )
}

extension Priority {
    /// The priority as stored in the tables: an index sorts the most urgent first.
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
