import BellhopRules
import Postgres
import Store

/// A generated user of a benchmark.
struct BenchmarkPerson: Sendable, Hashable {
    let user: String
    let timezone: String
    let isPushEnabled: Bool
    /// The preference document, as JSON text.
    let preferences: String
    /// The tokens of this user's Android devices.
    let tokens: [String]

    init(user: String, timezone: String, isPushEnabled: Bool, preferences: String, tokens: [String]) {
        self.user = user
        self.timezone = timezone
        self.isPushEnabled = isPushEnabled
        self.preferences = preferences
        self.tokens = tokens
    }
}

/// Fills an empty schema with users, thousands per statement: the same number of feed messages would be a separate
/// benchmark.
///
/// Their devices usually count as reached, as most devices do in a system that has run for a while.
struct BenchmarkPeopleBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of a worker, or of the schema's owner if row security does not apply to
    ///   it.
    init(pool: PostgresPool) {
        self.pool = pool
    }

    func insert(_ people: [BenchmarkPerson], app: AppID, areReached: Bool) async throws(StoreError) {
        let users = people.map(\.user)
        let owners = people.flatMap { person in person.tokens.map { _ in person.user } }
        _ = try await pool.run(
            Self.recipients,
            [
                .text(app.text), .textArray(users), .textArray(people.map(\.timezone)),
                .booleanArray(people.map(\.isPushEnabled)),
            ]
        )
        _ = try await pool.run(
            Self.preferences,
            [.text(app.text), .textArray(users), .jsonArray(people.map { Array($0.preferences.utf8) })]
        )
        _ = try await pool.run(
            Self.subscriptions,
            [.text(app.text), .textArray(owners), .textArray(people.flatMap(\.tokens))]
        )
        if areReached { _ = try await pool.run(Self.contacts, [.text(app.text), .textArray(users)]) }
    }

    private static let recipients = Statement(
        """
        INSERT INTO recipients (app, user_id, locale, timezone, push_enabled, source_time)
        SELECT $1, p.user_id, 'nb', p.timezone, p.push_enabled, now()
        FROM unnest($2::text[], $3::text[], $4::boolean[]) AS p (user_id, timezone, push_enabled)
        """
    )

    private static let preferences = Statement(
        """
        INSERT INTO notification_preferences (app, profile_id, preferences, source_time)
        SELECT $1, p.user_id, p.preferences, now() FROM unnest($2::text[], $3::jsonb[]) AS p (user_id, preferences)
        """
    )

    private static let subscriptions = Statement(
        """
        INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, permission, environment,
                                        registered_at, last_seen_at, source_time)
        SELECT $1, p.user_id, 'sub_' || substr(md5(p.token), 1, 16), 'android', 'fcm', p.token, 'granted', 'production',
               now(), now(), now()
        FROM unnest($2::text[], $3::text[]) AS p (user_id, token)
        """
    )

    /// Records all devices of the users as reached.
    private static let contacts = Statement(
        """
        WITH platform AS (
            INSERT INTO reached_platforms (app, provider, platform) VALUES ($1, 'fcm', 'android') ON CONFLICT DO NOTHING
        )
        UPDATE people p SET reached = d.marks
        FROM (
            SELECT profile_id, string_agg(device_mark(id, device_token, unreached_since), ' ') AS marks
            FROM push_subscriptions WHERE app = $1 AND profile_id = ANY ($2) GROUP BY profile_id
        ) AS d
        WHERE p.app = $1 AND p.user_id = d.profile_id
        """
    )
}
