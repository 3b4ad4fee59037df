package import BellhopRules
package import Postgres

/// A question about what the devices of a user got lately.
package struct RecentPushQuestion: Sendable {
    /// Of a user who has a number; anybody else got nothing.
    package let recipient: RecipientKey
    /// The key whose latest push is asked for, and how long ago it matters at most.
    package let burst: (key: String, window: Duration)?
    /// How many of low priority are counted at most.
    package let most: Int

    package init(_ recipient: RecipientKey, burst: (key: String, window: Duration)?, most: Int) {
        self.recipient = recipient
        self.burst = burst
        self.most = most
    }
}

/// What the devices of users got lately, for the policies that ask for it.
package struct RecentPushBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// One round trip; the answers are in the order of `questions`.
    package func answers(
        to questions: [RecentPushQuestion]
    ) async throws(PostgresError) -> [DecisionFacts.RecentPushes] {
        var answers = questions.map { _ in DecisionFacts.RecentPushes() }
        let numbered = questions.indices.filter { questions[$0].recipient.number != nil }
        guard !numbered.isEmpty else { return answers }
        let rows = try await pool.withConnection { (connection) throws(PostgresError) in
            let history = connection.history
            return try connection.run(
                Self.look,
                [
                    .integerArray(numbered.map { questions[$0].recipient.number(in: history) }),
                    .textArray(numbered.map { questions[$0].burst?.key }),
                    .integerArray(numbered.map { questions[$0].burst?.window.milliseconds }),
                    .integerArray(numbered.map { Int64(questions[$0].most) }),
                ]
            )
        }
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: numbered.indices) else { continue }
            answers[numbered[place]] = DecisionFacts.RecentPushes(
                latest: try rows.timestamp(row, 1),
                lowPriority: try rows.number(row, 2)
            )
        }
        return answers
    }

    /// Of the user's newest notifications alone, and of few of them.
    ///
    /// What waited for the end of a burst went out then, or will: so two windows back there is none that could matter. What
    /// never went to a device does not count, nor does what is gathered.
    private static let look = Statement(
        """
        SELECT r.position, b.latest, c.pushes
        FROM (
            SELECT generate_subscripts($1::bigint[], 1)::bigint AS position, unnest($1::bigint[]) AS person,
                   unnest($2::text[]) AS key, unnest($3::bigint[]) AS span, unnest($4::bigint[]) AS most
        ) AS r
        CROSS JOIN LATERAL (
            SELECT max(greatest(n.created_at, l.until)) AS latest
            FROM (
                SELECT person, id, created_at, collapse_key FROM inbox
                WHERE person = r.person AND created_at > now() - 2 * r.span * interval '1 ms'
                ORDER BY created_at DESC, id DESC LIMIT 100
            ) AS n
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE NOT (\(isOverdue))) AS lines,
                       max((d.decision ->> 'until')::timestamptz) FILTER (WHERE d.decision ? '\(Wait.burstKey)') AS until
                FROM ledger d
                WHERE d.person = n.person AND d.id = n.id AND \(isPush)
            ) AS l
            WHERE n.collapse_key = r.key AND l.lines > 0
        ) AS b
        CROSS JOIN LATERAL (
            SELECT count(*) AS pushes FROM (
                SELECT FROM (
                    SELECT person, id FROM inbox
                    WHERE person = r.person AND created_at > now() - interval '1 h' AND urgency = 2 AND r.most > 0
                    ORDER BY created_at DESC, id DESC LIMIT 1000
                ) AS n
                WHERE EXISTS (
                    SELECT FROM ledger d
                    WHERE d.person = n.person AND d.id = n.id AND \(isPush) AND d.decision ->> '\(Wait.slotKey)' IS NULL
                    OFFSET 0
                )
                LIMIT r.most
            ) AS counted
        ) AS c
        """,
        effect: .reads
    )

    /// About to go out, were it not for a newer one: that one goes in its place, or nothing would until the burst is over.
    private static let isOverdue = """
        d.state IN (\(DeliveryState.deferred.sql), \(DeliveryState.pending.sql))
        AND coalesce((d.decision ->> 'until')::timestamptz <= now(), false)
        """

    private static let isPush =
        "d.target <> \(TargetNumber.mailbox) AND d.state NOT IN (\(DeliveryState.suppressed.sql), \(DeliveryState.expired.sql))"
}
