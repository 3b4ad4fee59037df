package import BellhopRules
package import Postgres

/// What concerns masses of devices: page by page, each page a transaction with its rows locked in the order of their keys,
/// so that feeds and revocations of single devices go on beside it.
extension RevocationBook {
    /// How far such work has come.
    package struct Progress: Sendable, Equatable {
        package var looked = 0
        package var changed = 0
    }

    /// Ends what nobody has heard of for so many days; returns how many.
    ///
    /// What was ended stays ended where it is broken off; the next run goes on. `say` hears after each page.
    package func revokeStale(
        days: Int,
        pageSize: Int = 1000,
        say: (Progress) -> Void = { _ in }
    ) async throws(PostgresError) -> Int {
        var (progress, last): (Progress, (user: String, app: String, id: String)) = (Progress(), ("", "", ""))
        while true {
            let rows = try await pool.run(
                Self.stalePage,
                [
                    .text(last.user), .text(last.app), .text(last.id), .integer(Int64(days)),
                    .integer(Int64(max(1, pageSize))),
                ]
            )
            guard !rows.isEmpty else { return progress.changed }
            progress.looked += try rows.number(0, 3)
            progress.changed += try rows.number(0, 4)
            last = (try rows.text(0, 0), try rows.text(0, 1), try rows.text(0, 2))
            say(progress)
        }
    }

    /// Lets the devices of a provider live again that its answers have ended since that instant, since the fault was ours;
    /// returns how many.
    ///
    /// What the user ended, and what has been replaced since, stays ended; so does a device that another registered
    /// later, even where that one has logged out: the token is no longer its former owner's. Safe to repeat.
    package func takeBack(
        app: AppID,
        provider: String,
        since: Timestamp,
        pageSize: Int = 500
    ) async throws(PostgresError) -> Int {
        var (count, last): (Int, (at: Int64, user: String, id: String)) = (0, (since.microseconds, "", ""))
        while true {
            let rows = try await pool.run(
                Self.takeBackPage,
                [
                    .text(app.text), .text(provider), .instant(last.at), .text(last.user), .text(last.id),
                    .integer(Int64(max(1, pageSize))),
                ]
            )
            guard !rows.isEmpty else { return count }
            count += try rows.number(0, 3)
            last = (try rows.instant(0, 0), try rows.text(0, 1), try rows.text(0, 2))
        }
    }

    /// One row that says where the page ended, or none at the end of the table.
    private static let stalePage = Statement(
        """
        WITH page AS MATERIALIZED (
            SELECT app, profile_id, id, revoked_at IS NULL AND last_seen_at < now() - $4::bigint * interval '1 day' AS stale
            FROM push_subscriptions WHERE (profile_id, app, id) > ($1::text, $2::text, $3::text)
            ORDER BY profile_id, app, id LIMIT $5
        ), held AS MATERIALIZED (
            SELECT s.app, s.profile_id, s.id
            FROM page d JOIN push_subscriptions s ON \(isSubscription)
            WHERE d.stale AND s.revoked_at IS NULL AND s.last_seen_at < now() - $4::bigint * interval '1 day'
            ORDER BY d.profile_id, d.app, d.id
            FOR UPDATE OF s
        ), ended AS (
            UPDATE push_subscriptions s SET revoked_at = now(), revoke_reason = \(RevokeReason.stale.literal)
            FROM held d WHERE \(isSubscription)
            RETURNING s.id
        )
        SELECT profile_id, app, id, (SELECT count(*) FROM page), (SELECT count(*) FROM ended)
        FROM page ORDER BY profile_id DESC, app DESC, id DESC LIMIT 1
        """
    )

    private static let takeBackPage = Statement(
        """
        WITH page AS MATERIALIZED (
            SELECT app, profile_id, id, revoked_at FROM push_subscriptions
            WHERE app = $1 AND provider = $2 AND revoked_at IS NOT NULL
              AND (revoked_at, profile_id, id) > ($3, $4::text, $5::text)
            ORDER BY revoked_at, profile_id, id LIMIT $6
        ), held AS MATERIALIZED (
            SELECT s.app, s.profile_id, s.id
            FROM page d JOIN push_subscriptions s ON \(isSubscription)
            WHERE coalesce(s.revoked_at, '-infinity') = d.revoked_at AND s.revoke_reason NOT IN (\(RevokeReason.list))
              AND NOT EXISTS (
                  SELECT FROM push_subscriptions o
                  WHERE o.app || '' = s.app AND o.device_token = s.device_token
                    AND md5(o.device_token) = md5(s.device_token)
                    AND (o.revoked_at IS NULL
                        OR (o.registered_at, o.profile_id, o.id) > (s.registered_at, s.profile_id, s.id))
                  OFFSET 0
              )
            ORDER BY d.profile_id, d.app, d.id
            FOR UPDATE OF s
        ), back AS (
            UPDATE push_subscriptions s SET revoked_at = NULL, revoke_reason = NULL
            FROM held d WHERE \(isSubscription)
            RETURNING s.id
        )
        SELECT revoked_at, profile_id, id, (SELECT count(*) FROM back)
        FROM page ORDER BY revoked_at DESC, profile_id DESC, id DESC LIMIT 1
        """
    )
}
