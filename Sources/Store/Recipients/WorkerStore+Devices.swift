package import BellhopRules
package import Postgres

/// Bellhop's reasons to revoke a subscription; any other reason is a provider's answer.
package enum RevokeReason: String, CaseIterable, Sendable {
    /// Another user has registered the token.
    case tokenMoved = "token-moved"
    /// The device has a new token with a separate subscription.
    case replaced
    /// The app has logged out or disabled notifications.
    case unsubscribed
    /// The device was inactive for too long.
    case stale
    /// The user has more than the maximum number of devices, and this device was seen least recently.
    case tooMany = "too-many"

    /// All reasons, for an SQL list.
    static var list: String { allCases.map(\.literal).joined(separator: ", ") }

    /// The reasons from updates of the source, whose times are by the source's clock, for an SQL list.
    static var saidBySource: String { [tokenMoved, replaced, unsubscribed].map(\.literal).joined(separator: ", ") }

    var literal: String { "'\(rawValue)'" }
}

/// A device that its provider reports as gone.
///
/// It is an object because it is rare: every outcome of a delivery has a place for it.
package final class DeadDevice: Sendable {
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

extension WorkerStore {
    /// Revokes each device once, unless its token has changed or was registered again since; returns the number of
    /// revoked devices.
    ///
    /// No device is revoked while its provider's breaker is open because of a mass failure, whichever worker detected
    /// it.
    package func revoke(_ devices: [DeadDevice]) async throws(PostgresError) -> Int {
        guard !devices.isEmpty else { return 0 }
        return try await pool.run(
            Self.revoke,
            UserKey.parameters(devices.map(\.recipient)) + [
                .textArray(devices.map(\.subscription)), .textArray(devices.map(\.token.text)),
                .textArray(devices.map(\.reason)), .instantArray(devices.map(\.deadSince.microseconds)),
            ]
        ).affectedCount
    }

    /// Locks the rows in the same order as feeds, so that the two cannot deadlock.
    private static let revoke = Statement(
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
                    AND (b.deaths_since IS NOT NULL OR b.reason = '\(OpenBreaker.massDeath)')
                  OFFSET 0
              )
            ORDER BY r.user_id COLLATE "C", r.app COLLATE "C", r.id COLLATE "C"
            FOR UPDATE OF s
        )
        UPDATE push_subscriptions s SET revoked_at = now(), revoke_reason = d.reason
        FROM dead d WHERE \(DeadDevice.isSubscription)
        """
    )

    /// Restores the devices that a provider's answers have revoked since `since`, because of a configuration error;
    /// returns their number.
    ///
    /// Devices that the user revoked or that were replaced since stay revoked. A device whose token another user
    /// registered later also stays revoked, even if that user has logged out: the token no longer belongs to its former
    /// user. A device whose token was deleted meanwhile is not restored. The call is safe to repeat.
    ///
    /// Each page is a transaction that locks its rows in the order of their keys, so that feeds and single revocations
    /// continue concurrently.
    package func takeBack(_ key: BreakerKey, since: Timestamp, pageSize: Int) async throws(PostgresError) -> Int {
        var (count, last): (Int, (at: Int64, user: String, id: String)) = (0, (since.microseconds, "", ""))
        while true {
            let rows = try await pool.run(
                Self.takeBackPage,
                [
                    .text(key.app.text), .text(key.provider), .instant(last.at), .text(last.user), .text(last.id),
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
            FROM page d JOIN push_subscriptions s ON \(DeadDevice.isSubscription)
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
            FROM held d WHERE \(DeadDevice.isSubscription)
            RETURNING s.id
        )
        SELECT revoked_at, profile_id, id, (SELECT count(*) FROM back)
        FROM page ORDER BY revoked_at DESC, profile_id DESC, id DESC LIMIT 1
        """
    )
}

extension DeadDevice {
    /// The row of `d`, by its key.
    static let isSubscription = "s.app || '' = d.app AND s.profile_id = ANY (ARRAY[d.profile_id]) AND s.id = d.id"
}

/// An unreached device to which the provider has accepted a push; an object for the same reason as ``DeadDevice``.
package final class ReachedDevice: Sendable {
    package let recipient: UserKey
    package let device: Device

    package init(recipient: UserKey, device: Device) {
        self.recipient = recipient
        self.device = device
    }
}

extension WorkerStore {
    /// Records the marks of devices that were reached for the first time, and returns the number of their users.
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
                .textArray(devices.map(\.device.mark)), .textArray(devices.map(\.device.provider.rawValue)),
                .textArray(devices.map(\.device.platform.rawValue)),
            ]
        ).affectedCount
    }

    /// Returns the parts of outlets, each with one platform, that have reached devices.
    package func platformsReached() async throws(PostgresError) -> Set<OutletScope> {
        let rows = try await pool.run(Self.platforms)
        var reached: Set<OutletScope> = []
        for row in rows.indices {
            guard let app = AppID(validating: try rows.text(row, 0)),
                let platform = DevicePlatform(rawValue: try rows.text(row, 2))
            else { continue }
            reached.insert(OutletScope(app: app, provider: try rows.text(row, 1), platform: platform))
        }
        return reached
    }

    /// The newest 32 marks of a user are kept; at most twenty devices of a user are active.
    private static let note = Statement(
        """
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                AS r (app, user_id, mark, provider, platform)
        ), platforms AS (
            INSERT INTO reached_platforms (app, provider, platform)
            SELECT DISTINCT app, provider, platform FROM given ORDER BY app, provider, platform
            ON CONFLICT DO NOTHING
        ), marks AS MATERIALIZED (
            SELECT app, user_id, string_agg(DISTINCT mark, ' ') AS marks FROM given
            WHERE mark IS NOT NULL GROUP BY app, user_id
        ), held AS MATERIALIZED (
            SELECT p.number, m.marks FROM marks m
            JOIN people p ON p.user_id = ANY (ARRAY[m.user_id]) AND p.app = m.app
            WHERE p.reached IS NULL OR position(m.marks IN p.reached) = 0
            ORDER BY m.user_id COLLATE "C", m.app COLLATE "C"
            FOR NO KEY UPDATE OF p SKIP LOCKED
        )
        UPDATE people p SET reached = right(concat_ws(' ', p.reached, h.marks), 32 * 16 - 1)
        FROM held h WHERE p.number = ANY (ARRAY[h.number])
        """
    )

    /// Also steps from one platform of an outlet to the next among devices that an earlier release has recorded as
    /// reached, without reading the devices in between.
    ///
    /// The triple is compared as a whole, as in the index of reached devices. The number of steps is bounded, so that
    /// rows of unknown apps cannot extend it.
    private static let platforms = Statement(
        """
        WITH RECURSIVE reached AS (
            SELECT ''::text COLLATE "C" AS app, ''::text COLLATE "C" AS provider, ''::text COLLATE "C" AS platform,
                   0 AS number
            UNION ALL
            SELECT n.app, n.provider, n.platform, r.number + 1
            FROM reached r CROSS JOIN LATERAL (
                SELECT s.app, s.provider, s.platform FROM push_subscriptions s
                WHERE s.reached_at IS NOT NULL AND (s.app, s.provider, s.platform) > (r.app, r.provider, r.platform)
                ORDER BY s.app, s.provider, s.platform LIMIT 1
            ) AS n
            WHERE r.number < 1000
        )
        SELECT app, provider, platform FROM reached WHERE number > 0
        UNION SELECT app, provider, platform FROM reached_platforms
        """,
        effect: .reads
    )
}
