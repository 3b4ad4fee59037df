package import BellhopRules
package import Postgres

/// A device that its provider calls dead.
package struct DeadDevice: Sendable {
    package let recipient: RecipientKey
    package let subscription: String
    package let token: DeviceToken
    package let reason: String
    /// A registration after this instant lives: it is newer than the answer, or than the send that was answered.
    package let deadSince: Timestamp

    package init(
        recipient: RecipientKey,
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

/// Ends subscriptions whose device is gone.
package struct Revocations: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Revokes each device once, unless its token has changed or was registered again since; returns how many.
    ///
    /// None is revoked while its provider is held back because it calls devices dead in masses, whichever worker noticed.
    package func revoke(_ devices: [DeadDevice]) async throws(PostgresError) -> Int {
        guard !devices.isEmpty else { return 0 }
        return try await pool.run(
            Self.statement,
            [
                .textArray(devices.map(\.recipient.app.text)), .textArray(devices.map(\.recipient.user.text)),
                .textArray(devices.map(\.subscription)), .textArray(devices.map(\.token.text)),
                .textArray(devices.map(\.reason)), .instantArray(devices.map(\.deadSince.microseconds)),
            ]
        ).affectedCount
    }

    /// Ends what nobody has heard of for so many days; returns how many.
    package func revokeStale(days: Int) async throws(PostgresError) -> Int {
        Int(clamping: try await pool.run(Self.revokeStale, [.integer(Int64(days))]).integer(0, 0))
    }

    private static let revokeStale = Statement("SELECT revoke_stale_push_subscriptions($1::bigint::integer)")

    /// Takes back what answers of the last ten minutes have cost the devices of a provider, since the fault was ours;
    /// returns how many live again.
    ///
    /// What the user ended, and what has been replaced since, stays ended; so does a device that another registered
    /// later, even where that one has logged out: the token is no longer its former owner's.
    package func takeBack(app: AppID, provider: String) async throws(PostgresError) -> Int {
        try await pool.run(Self.takeBack, [.text(app.text), .text(provider)]).affectedCount
    }

    private static let takeBack = Statement(
        """
        UPDATE push_subscriptions s SET revoked_at = NULL, revoke_reason = NULL
        WHERE s.app = $1 AND s.provider = $2 AND s.revoked_at > now() - interval '10 min'
          AND s.revoke_reason NOT IN (\(RevokeReason.list))
          AND NOT EXISTS (
              SELECT FROM push_subscriptions o
              WHERE o.app = s.app AND o.device_token = s.device_token AND md5(o.device_token) = md5(s.device_token)
                AND (o.revoked_at IS NULL
                    OR (o.registered_at, o.profile_id, o.id) > (s.registered_at, s.profile_id, s.id))
          )
        """
    )

    /// In the order in which feeds lock them, so that neither waits for the other in a circle.
    private static let statement = Statement(
        """
        WITH dead AS MATERIALIZED (
            SELECT s.app, s.profile_id, s.id, r.reason
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
                 AS r (app, user_id, id, token, reason, dead_since)
            JOIN push_subscriptions s ON s.app = r.app AND s.profile_id = r.user_id AND s.id = r.id
            WHERE s.device_token = r.token AND s.registered_at <= r.dead_since AND s.revoked_at IS NULL
              AND NOT EXISTS (
                  SELECT FROM breakers b
                  WHERE b.app = s.app AND b.provider = s.provider AND b.platform = '' AND b.reason = '\(massDeath)'
              )
            ORDER BY s.profile_id, s.app, s.id
            FOR UPDATE OF s
        )
        UPDATE push_subscriptions s SET revoked_at = now(), revoke_reason = d.reason
        FROM dead d
        WHERE s.app = d.app AND s.profile_id = d.profile_id AND s.id = d.id
        """
    )

    /// The reason of a breaker that is open since devices died in masses.
    package static let massDeath = "mass-death"
}
