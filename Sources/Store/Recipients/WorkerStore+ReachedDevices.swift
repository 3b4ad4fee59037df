package import BellhopRules
package import Postgres

/// A device that has accepted a push.
package struct ReachedDevice: Sendable {
    package let recipient: UserKey
    package let subscription: String
    package let token: DeviceToken

    package init(recipient: UserKey, subscription: String, token: DeviceToken) {
        self.recipient = recipient
        self.subscription = subscription
        self.token = token
    }
}

extension WorkerStore {
    /// Records devices that were reached for the first time, and returns their number.
    ///
    /// Any client may register invented tokens, so a provider's answers about devices that were never reached prove
    /// nothing about other devices.
    ///
    /// Rows that another statement has locked are skipped: the next push records them.
    package func note(_ devices: [ReachedDevice]) async throws(PostgresError) -> Int {
        guard !devices.isEmpty else { return 0 }
        return try await pool.run(
            Self.note,
            UserKey.parameters(devices.map(\.recipient)) + [
                .textArray(devices.map(\.subscription)), .textArray(devices.map(\.token.text)),
            ]
        ).affectedCount
    }

    /// Returns the platforms on which a provider has reached devices of an app.
    package func platformsReached(
        of app: AppID,
        by provider: String
    ) async throws(PostgresError) -> Set<DevicePlatform> {
        let platforms = DevicePlatform.allCases.map(\.rawValue)
        let rows = try await pool.run(
            Self.platforms,
            [.text(app.text), .text(provider), .textArray(platforms)]
        )
        return Set(try rows.texts().compactMap(DevicePlatform.init(rawValue:)))
    }

    private static let note = Statement(
        """
        WITH reached AS (
            SELECT s.app, s.profile_id, s.id
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r (app, user_id, id, token)
            JOIN push_subscriptions s
                ON s.app || '' = r.app AND s.profile_id = ANY (ARRAY[r.user_id]) AND s.id = r.id
            WHERE s.device_token = r.token AND s.reached_at IS NULL
            ORDER BY r.user_id COLLATE "C", r.app COLLATE "C", r.id COLLATE "C"
            FOR NO KEY UPDATE OF s SKIP LOCKED
        )
        UPDATE push_subscriptions s SET reached_at = now()
        FROM reached r
        WHERE s.app || '' = r.app AND s.profile_id = ANY (ARRAY[r.profile_id]) AND s.id = r.id
        """
    )

    private static let platforms = Statement(
        """
        SELECT p.platform FROM unnest($3::text[]) AS p (platform)
        CROSS JOIN LATERAL (
            SELECT FROM push_subscriptions s
            WHERE s.app = $1 AND s.provider = $2 AND s.platform = p.platform AND s.reached_at IS NOT NULL
            LIMIT 1
        ) AS reached
        """,
        effect: .reads
    )
}
