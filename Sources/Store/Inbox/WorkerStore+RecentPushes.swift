package import BellhopRules
package import Postgres

/// A query for the recent pushes of one user's devices.
package struct RecentPushQuestion: Sendable {
    /// The user.
    ///
    /// A user without a number has no recent pushes.
    package let recipient: UserKey
    /// The collapse key whose latest push is requested, and the maximum age at which it matters.
    package let burst: (key: String, window: Duration)?
    /// The number up to which pushes of low priority are counted.
    package let most: Int

    package init(_ recipient: UserKey, burst: (key: String, window: Duration)?, most: Int) {
        self.recipient = recipient
        self.burst = burst
        self.most = most
    }
}

extension WorkerStore {
    /// Returns recent pushes to users' devices, for the policies that depend on them.
    ///
    /// All questions are answered in one round trip, in the order of `questions`.
    package func recentPushes(
        _ questions: [RecentPushQuestion]
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

    /// Reads only the user's newest notifications, and few of them.
    ///
    /// A notification that waited for the end of a burst was sent then, or will be. Notifications older than two
    /// windows therefore cannot matter. Notifications that were never sent to a device and those in digests are not
    /// counted.
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

    /// The condition for a delivery that is about to be sent, and which a newer notification may replace.
    ///
    /// It is not counted: otherwise neither would be sent until the burst ends.
    private static let isOverdue = """
        d.state IN (\(DeliveryState.deferred.sql), \(DeliveryState.pending.sql))
        AND coalesce((d.decision ->> 'until')::timestamptz <= now(), false)
        """

    private static let isPush =
        "d.target <> \(TargetNumber.mailbox) AND d.state NOT IN (\(DeliveryState.suppressed.sql), \(DeliveryState.expired.sql))"
}
