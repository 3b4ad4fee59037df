import BellhopRules
package import Postgres

/// Users whose devices show an outdated badge.
package struct BadgeStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A user, with the time of the badge's last change.
    package struct Entry: Sendable {
        package let recipient: UserKey
        let requestedAt: Int64
    }

    /// Takes at most `limit` users whose badge has not changed for `calm`, the oldest first.
    ///
    /// A user who reads ten notifications in a row gets one update.
    ///
    /// Users of an app that an operator holds as a whole wait for the release of the hold.
    ///
    /// An entry that is taken and not finished is available again after a minute, if the poll's `span` reaches back
    /// that far.
    package func take(
        atMost limit: Int,
        calm: Duration,
        within span: Duration = DuePoll.whole,
        of users: UserFilter = .everyone
    ) async throws(PostgresError) -> DuePollResult<Entry> {
        let rows = try await pool.run(Self.take, Self.parameters(limit, calm, span, users))
        let entries = try rows.compactMap { (rows, row) throws(PostgresError) -> Entry? in
            guard let key = try rows.recipientKey(row) else { return nil }
            return Entry(recipient: key, requestedAt: try rows.instant(row, 2))
        }
        let found = try DuePollResult(entries, from: rows, age: 3, limit: limit)
        return DuePollResult(entries, left: found.left ?? calm)
    }

    /// Returns the users whom `take` would take, without taking them.
    package func head(
        atMost limit: Int,
        calm: Duration,
        within span: Duration,
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead {
        try QueueHead(try await pool.run(Self.oldestFirst, Self.parameters(limit, calm, span, users)))
    }

    private static func parameters(_ limit: Int, _ calm: Duration, _ span: Duration, _ users: UserFilter) -> [Parameter]
    {
        [.integer(Int64(limit)), .integer(calm.milliseconds), .integer(span.milliseconds)] + users.parameters
    }

    /// Deletes the entries after their updates were published.
    ///
    /// An entry that has changed again meanwhile stays.
    package func finish(_ entries: DuePollResult<Entry>) async throws(PostgresError) {
        guard !entries.isEmpty else { return }
        _ = try await pool.run(
            Self.finish,
            UserKey.parameters(entries.map(\.recipient)) + [.instantArray(entries.map(\.requestedAt))]
        )
    }

    /// Makes the entries available again immediately, because the broker has not confirmed their message.
    package func giveBack(_ entries: DuePollResult<Entry>) async throws(PostgresError) {
        guard !entries.isEmpty else { return }
        _ = try await pool.run(Self.giveBack, UserKey.parameters(entries.map(\.recipient)))
    }

    private static let giveBack = Statement(
        """
        UPDATE badge_updates b SET handed_over_at = NULL
        FROM unnest($1::text[], $2::text[]) AS d (app, user_id)
        WHERE b.app = d.app AND b.user_id = ANY (ARRAY[d.user_id])
        """
    )

    /// Looks numbers of users up only while users are left out.
    private static func oldest(_ columns: String) -> String {
        """
        SELECT \(columns) FROM badge_updates u
        WHERE u.requested_at <= now() - $2::bigint * interval '1 ms' AND \(DuePoll.reaches("u.requested_at", "$3"))
          AND coalesce(u.handed_over_at NOT BETWEEN now() - interval '1 min' AND now() + interval '1 min', true)
          AND u.app <> ALL (ARRAY(SELECT h.app FROM holds h WHERE h.type = '' AND h.provider = ''))
          AND CASE WHEN $4::bigint[] = '{}' THEN NOT $5::boolean ELSE (\(number) = ANY ($4::bigint[])) = $5::boolean END
          AND u.requested_at <= $6::timestamptz
        ORDER BY u.requested_at LIMIT $1
        """
    }

    private static let number = "coalesce((SELECT p.number FROM \(UserKey.number(of: "u")) AS p), 0)"

    private static let oldestFirst = Statement(oldest("\(number), u.requested_at"), effect: .reads)

    private static let take = Statement(
        """
        WITH due AS (
            \(oldest("u.app, u.user_id")) FOR UPDATE SKIP LOCKED
        )
        UPDATE badge_updates b SET handed_over_at = now()
        FROM due WHERE b.app = due.app AND b.user_id = ANY (ARRAY[due.user_id])
        RETURNING b.app, b.user_id, b.requested_at, \(DuePoll.age(of: "b.requested_at"))
        """
    )

    /// Finds rows by user.
    ///
    /// The expression on the time prevents the use of the time's index.
    private static let finish = Statement(
        """
        DELETE FROM badge_updates b
        USING unnest($1::text[], $2::text[], $3::timestamptz[]) AS d (app, user_id, requested_at)
        WHERE b.app = d.app AND b.user_id = ANY (ARRAY[d.user_id]) AND b.requested_at + interval '0' = d.requested_at
        """
    )
}
