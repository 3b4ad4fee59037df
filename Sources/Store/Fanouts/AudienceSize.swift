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
                try await pool.run(Self.followers, [.text(audience.app), .text(topic), limit])
            } else {
                try await pool.run(Self.everyone, [.text(audience.app), limit])
            }
        try self.init(rows, most)
    }

    /// Counts the users of an app who have an active device and do not belong to everyone, among the app's first devices.
    package init(
        outsideOfEveryoneIn app: String,
        on pool: ConnectionPool,
        among most: Int
    ) async throws(PostgresError) {
        let rows = try await pool.run(Self.outsiders, [.text(app), .integer(Int64(most) + 1)])
        users = try rows.number(0, 0)
        isCapped = try rows.number(0, 1) > most
    }

    private init(_ rows: Rows, _ most: Int) throws(PostgresError) {
        let count = try rows.number(0, 0)
        (users, isCapped) = (min(count, most), count > most)
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
    private static let outsiders = Statement(
        """
        WITH looked AS MATERIALIZED (
            SELECT profile_id FROM push_subscriptions
            WHERE app = $1 AND revoked_at IS NULL ORDER BY profile_id LIMIT $2
        )
        SELECT (SELECT count(*) FROM (SELECT DISTINCT profile_id FROM looked) AS s
                WHERE NOT EXISTS (SELECT 1 FROM recipients r WHERE r.app = $1 AND r.user_id = s.profile_id)),
               (SELECT count(*) FROM looked)
        """,
        effect: .reads
    )
}
