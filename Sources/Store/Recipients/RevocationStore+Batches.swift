package import BellhopRules
package import Postgres

/// Changes to large numbers of devices, page by page. Each page is a transaction that locks its rows in the order of
/// their keys, so that feeds and single revocations continue concurrently.
extension RevocationStore {
    /// Restores the devices that a provider's answers have revoked since `since`, because of a configuration error;
    /// returns their number.
    ///
    /// Devices that the user revoked or that were replaced since stay revoked. A device whose token another user
    /// registered later also stays revoked, even if that user has logged out: the token no longer belongs to its former
    /// user. A device whose token was deleted meanwhile is not restored. The call is safe to repeat.
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
