package import BellhopRules
package import Postgres
package import ServiceRuntime

/// Revokes devices that were inactive for a number of days, page by page.
///
/// Each page is a separate transaction that locks its rows in the order of their keys, so that feeds and single
/// revocations continue concurrently. If the walk is aborted, revoked devices stay revoked. After a failed step it
/// continues at the same place.
package struct StaleDeviceWalk: Sendable {
    /// The devices of one app and provider.
    package struct Group: Hashable, Sendable {
        package let app: String
        package let provider: String
    }

    /// The parameters of a walk.
    package struct Search: Sendable {
        package var days: Int
        /// The app; `nil` for all.
        package var app: AppID?
        /// Whether the walk only counts the devices that it would revoke.
        package var isRehearsal = false
        package var pageSize = 1000

        package init(days: Int) {
            self.days = days
        }
    }

    /// The number of devices checked.
    package private(set) var looked = 0
    /// The number of devices that were revoked, or would be.
    package private(set) var found: [Group: Int] = [:]
    /// The number of devices that were active when they were checked.
    package private(set) var living: [Group: Int] = [:]
    private let pool: PostgresPool
    private let search: Search
    private let time: any TimeSource
    private var last: (user: String, app: String, id: String) = ("", "", "")

    /// Creates a walk in which a device is inactive only if it is so by the database clock and by that of `time`.
    package init(pool: PostgresPool, search: Search, time: any TimeSource = SystemTime()) {
        self.pool = pool
        self.search = search
        self.time = time
    }

    /// The number of devices found in all groups.
    package var total: Int { found.values.reduce(0, +) }

    /// Processes a page; returns false after the last one.
    package mutating func step() async throws(PostgresError) -> Bool {
        let rows = try await pool.run(
            Self.page,
            [
                .text(last.user), .text(last.app), .text(last.id), .integer(Int64(search.days)),
                .integer(Int64(max(1, search.pageSize))), .text(search.app?.text ?? ""), .boolean(search.isRehearsal),
                .instant((time.now() + .seconds(60)).microseconds),
            ]
        )
        guard !rows.isEmpty else { return false }
        looked += try rows.number(0, 3)
        last = (try rows.text(0, 0), try rows.text(0, 1), try rows.text(0, 2))
        for row in rows.indices {
            guard let app = try rows.optionalText(row, 4), let provider = try rows.optionalText(row, 5) else {
                continue
            }
            let group = Group(app: app, provider: provider)
            let ended = try rows.number(row, 6)
            if ended > 0 { found[group, default: 0] += ended }
            living[group, default: 0] += try rows.number(row, 7)
        }
        return true
    }

    private static let limit = "least(now(), $8::timestamptz) - $4::bigint * interval '1 day'"

    /// Returns the end of the page and its size, with each group in which devices were found; no row at the end of the
    /// table.
    private static let page = Statement(
        """
        WITH page AS MATERIALIZED (
            SELECT app, profile_id, id, provider, revoked_at IS NULL AS lives,
                   revoked_at IS NULL AND last_seen_at < \(limit)
                       AND ($6::text = '' OR app = $6::text) AS stale
            FROM push_subscriptions WHERE (profile_id, app, id) > ($1::text, $2::text, $3::text)
            ORDER BY profile_id, app, id LIMIT $5
        ), held AS MATERIALIZED (
            SELECT s.app, s.profile_id, s.id
            FROM page d JOIN push_subscriptions s ON \(DeadDevice.isSubscription)
            WHERE d.stale AND NOT $7::boolean
              AND s.revoked_at IS NULL AND s.last_seen_at < \(limit)
            ORDER BY d.profile_id, d.app, d.id
            FOR UPDATE OF s
        ), ended AS (
            UPDATE push_subscriptions s SET revoked_at = now(), revoke_reason = \(RevokeReason.stale.literal)
            FROM held d WHERE \(DeadDevice.isSubscription)
            RETURNING s.app, s.provider
        ), tally AS (
            SELECT app, provider, sum(ended)::bigint AS devices, sum(lives)::bigint AS living FROM (
                SELECT app, provider, 1 AS ended, 0 AS lives FROM ended
                UNION ALL
                SELECT app, provider, (stale AND $7::boolean)::integer, lives::integer FROM page
            ) AS found
            GROUP BY app, provider
        )
        SELECT l.profile_id, l.app, l.id, (SELECT count(*) FROM page), t.app, t.provider, t.devices, t.living
        FROM (SELECT profile_id, app, id FROM page ORDER BY profile_id DESC, app DESC, id DESC LIMIT 1) AS l
        LEFT JOIN tally AS t ON true
        """
    )
}
