package import Postgres

/// The audience of fan-outs: everyone, or the followers of a topic.
package struct AudienceName: Hashable, Sendable {
    package let app: String
    /// The topic; `nil` for everyone.
    package let topic: String?

    package init(app: String, topic: String?) {
        self.app = app
        self.topic = topic
    }
}

/// The number of users to whom a fan-out would go now.
package struct AudienceSize: Sendable, Equatable {
    /// The number of users, at most the limit of the count.
    package let users: Int
    /// Whether there may be more users than were counted.
    package let isCapped: Bool

    /// The usual limit of a count.
    package static let mostCounted = 1_000_000

    /// Counts the users up to a limit.
    package init(
        of audience: AudienceName,
        on pool: ConnectionPool,
        upTo most: Int = mostCounted
    ) async throws(PostgresError) {
        let limit = Parameter.integer(Int64(most) + 1)
        let rows =
            if let topic = audience.topic {
                try await Self.rows(of: Self.followers, [.text(audience.app), .text(topic), limit], on: pool)
            } else {
                try await Self.rows(of: Self.everyone, [.text(audience.app), limit], on: pool)
            }
        try self.init(rows, most)
    }

    /// Counts the users of an app who have an active device and do not belong to everyone, among the first devices of
    /// all apps: no index has the active devices of one app in the order of their users.
    package init(
        outsideOfEveryoneIn app: String,
        on pool: ConnectionPool,
        among most: Int
    ) async throws(PostgresError) {
        let rows = try await Self.rows(of: Self.outsiders, [.text(app), .integer(Int64(most) + 1)], on: pool)
        users = try rows.number(0, 0)
        isCapped = try rows.number(0, 1) > most
    }

    private init(_ rows: Rows, _ most: Int) throws(PostgresError) {
        let count = try rows.number(0, 0)
        (users, isCapped) = (min(count, most), count > most)
    }

    /// Runs a count that reads an index in its order, up to the limit.
    ///
    /// Operators' sessions otherwise let the server choose: with old statistics, it would read and sort a whole table.
    private static func rows(
        of count: Statement,
        _ parameters: [Parameter],
        on pool: ConnectionPool
    ) async throws(PostgresError) -> Rows {
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.execute(
                """
                SET LOCAL plan_cache_mode TO force_generic_plan; SET LOCAL enable_seqscan TO off;
                SET LOCAL enable_bitmapscan TO off; SET LOCAL enable_sort TO off; SET LOCAL jit TO off
                """
            )
            return try connection.run(count, parameters)
        }
    }

    private static let followers = count(FanoutAudience.followers("$1", "$2"), "$3")
    private static let everyone = count(FanoutAudience.everyone("$1"), "$2")

    private static func count(_ range: FanoutAudience.AudienceRange, _ limit: String) -> Statement {
        Statement(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM \(range.table) WHERE \(range.condition) ORDER BY user_id LIMIT \(limit)
            ) AS counted
            """,
            effect: .reads
        )
    }

    /// Reads at most the given number of devices, and returns the number of users and the number of devices read.
    ///
    /// Each user is looked up by key; a join could read all recipients.
    private static let outsiders = Statement(
        """
        WITH looked AS MATERIALIZED (
            SELECT profile_id, app, revoked_at FROM push_subscriptions ORDER BY profile_id LIMIT $2
        ), own AS MATERIALIZED (
            SELECT DISTINCT profile_id FROM looked WHERE app = $1 AND revoked_at IS NULL
        )
        SELECT (SELECT count(*) FROM own WHERE (
                    SELECT true FROM recipients r WHERE r.user_id = own.profile_id AND r.app = $1 OFFSET 0
                ) IS NULL),
               (SELECT count(*) FROM looked)
        """,
        effect: .reads
    )
}
