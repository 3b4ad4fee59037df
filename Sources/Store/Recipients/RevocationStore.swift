package import BellhopRules
package import Postgres

/// A device that its provider reports as gone.
package struct DeadDevice: Sendable {
    package let recipient: UserKey
    package let subscription: String
    package let token: DeviceToken
    package let reason: String
    /// A registration after this instant prevents the revocation: it is newer than the answer, or than the send that
    /// was answered.
    package let deadSince: Timestamp

    package init(
        recipient: UserKey,
        subscription: String,
        token: DeviceToken,
        reason: String,
        deadSince: Timestamp
    ) {
        self.recipient = recipient
        self.subscription = subscription
        self.token = token
        self.reason = reason
        self.deadSince = deadSince
    }
}

/// Revokes subscriptions whose device is gone.
package struct RevocationStore: Sendable {
    let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Revokes each device once, unless its token has changed or was registered again since; returns the number of
    /// revoked devices.
    ///
    /// No device is revoked while its provider's breaker is open because of a mass failure, whichever worker detected
    /// it.
    package func revoke(_ devices: [DeadDevice]) async throws(PostgresError) -> Int {
        guard !devices.isEmpty else { return 0 }
        return try await pool.run(
            Self.statement,
            UserKey.parameters(devices.map(\.recipient)) + [
                .textArray(devices.map(\.subscription)), .textArray(devices.map(\.token.text)),
                .textArray(devices.map(\.reason)), .instantArray(devices.map(\.deadSince.microseconds)),
            ]
        ).affectedCount
    }

    /// Locks the rows in the same order as feeds, so that the two cannot deadlock.
    private static let statement = Statement(
        """
        WITH dead AS MATERIALIZED (
            SELECT s.app, s.profile_id, s.id, r.reason
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
                 AS r (app, user_id, id, token, reason, dead_since)
            JOIN push_subscriptions s
                ON s.app || '' = r.app AND s.profile_id = ANY (ARRAY[r.user_id]) AND s.id = r.id
                AND s.device_token = r.token
            WHERE s.registered_at <= r.dead_since AND s.revoked_at IS NULL
              AND NOT EXISTS (
                  SELECT FROM breakers b
                  WHERE b.app = s.app AND b.provider = s.provider AND b.platform = ''
                    AND (b.deaths_since IS NOT NULL OR b.reason = '\(massDeath)')
                  OFFSET 0
              )
            ORDER BY r.user_id COLLATE "C", r.app COLLATE "C", r.id COLLATE "C"
            FOR UPDATE OF s
        )
        UPDATE push_subscriptions s SET revoked_at = now(), revoke_reason = d.reason
        FROM dead d WHERE \(isSubscription)
        """
    )

    /// The row of `d`, by its key.
    static let isSubscription = "s.app || '' = d.app AND s.profile_id = ANY (ARRAY[d.profile_id]) AND s.id = d.id"

    /// The reason of a breaker that is open because many devices were reported as gone.
    package static let massDeath = "mass-death"
}
