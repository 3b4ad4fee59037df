package import BellhopRules
package import Postgres

/// What concerns masses of devices: page by page, each page a transaction with its rows locked in the order of their keys,
/// so that feeds and revocations of single devices go on beside it.
extension RevocationBook {
    /// Lets the devices of a provider live again that its answers have ended since that instant, since the fault was ours;
    /// returns how many.
    ///
    /// What the user ended, and what has been replaced since, stays ended; so does a device that another registered
    /// later, even where that one has logged out: the token is no longer its former owner's. Nor does one live again whose
    /// token was forgotten meanwhile. Safe to repeat.
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
              AND s.device_token <> ''
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
