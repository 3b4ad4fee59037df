import BellhopRules
import Cryptography
import Postgres

/// Applies `subscription.upserted` and `subscription.revoked`.
enum SubscriptionFeed {
    /// Stores registrations.
    ///
    /// A token belongs to the last user who registered it, even if that registration was revoked since: a delayed
    /// update must not return the device to its former user.
    ///
    /// Two workers with updates of one token are serialised by `FeedLocks`, since otherwise neither would see the
    /// other's row.
    static func upsert(_ words: [UserUpdate<SubscriptionUpdate>], on connection: PostgresConnection)
        throws(PostgresError)
    {
        let who = UserUpdate.who(words)
        let token: Parameter = .textArray(words.map(\.content.token.text))
        let id: Parameter = .textArray(words.map(id))
        let platform: Parameter = .textArray(words.map(\.content.platform.rawValue))
        let provider: Parameter = .textArray(words.map(\.content.provider.rawValue))
        try rotate(words.filter { $0.content.replaces != nil }, on: connection)
        let vouched = UserUpdate.vouched(words)
        let fresh = try connection.run(seed, who + [subjects(words), id, token, platform, provider])
        _ = try connection.run(noteRegistration, Array(who.prefix(3)) + [token, provider, vouched])
        _ = try connection.run(
            update,
            Array(who.prefix(3)) + [
                token, platform, provider,
                .jsonArray(words.map { $0.content.subscription.value?.canonicalBytes }),
                .booleanArray(words.map(\.content.subscription.isGiven)),
                .textArray(words.map { $0.content.permission.value?.rawValue }),
                .booleanArray(words.map(\.content.permission.isGiven)),
                .textArray(words.map { $0.content.environment.value?.rawValue }),
                .booleanArray(words.map(\.content.environment.isGiven)),
            ]
        )
        _ = try connection.run(settleOwnership, [who[0], token])
        _ = try connection.run(capDevices, Array(who.prefix(2)))
        try NewDeviceDeliveries.join(fresh, on: connection)
    }

    /// Changes the token of a subscription, which keeps its id and its deliveries in the ledger.
    ///
    /// The former token gets a tombstone, too, in case its own registration arrives later.
    private static func rotate(
        _ words: [UserUpdate<SubscriptionUpdate>],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        guard !words.isEmpty else { return }
        let who = UserUpdate.who(words)
        let former = words.map { $0.content.replaces?.text ?? "" }
        try bury(words, former, on: connection)
        let tokens: Parameter = .textArray(words.map(\.content.token.text))
        _ = try connection.run(rotate, Array(who.prefix(3)) + [.textArray(former), tokens, subjects(words)])
        _ = try connection.run(replace, Array(who.prefix(3)) + [.textArray(former)])
        try FollowFeed.rename(words, on: connection)
    }

    static func revoke(_ words: [UserUpdate<DeviceToken>], on connection: PostgresConnection) throws(PostgresError) {
        let who = UserUpdate.who(words)
        try bury(words, words.map(\.content.text), on: connection)
        _ = try connection.run(revoke, Array(who.prefix(3)) + [.textArray(words.map(\.content.text))])
    }

    /// Writes tombstones for tokens that their users no longer have.
    ///
    /// A client may name any token as its former one. A tombstone is therefore written only for a token that the user
    /// has had. If that token itself replaced another, an hour must have passed. A client thus cannot fill the table by
    /// renaming one device repeatedly.
    private static func bury<Content>(
        _ words: [UserUpdate<Content>],
        _ tokens: [String],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let who = UserUpdate.who(words)
        let gone: Parameter = .bytesArray(
            zip(words, tokens).map { IdentityHash.subscription($0.app, $0.user, token: $1).bytes }
        )
        let isFromClient: Parameter = .booleanArray(words.map(\.isFromClient))
        _ = try connection.run(
            leaveTombstones,
            Array(who.prefix(3)) + [gone, .textArray(tokens), isFromClient]
        )
    }

    /// The hashes by which tombstones of the tokens are found.
    private static func subjects(_ words: [UserUpdate<SubscriptionUpdate>]) -> Parameter {
        .bytesArray(words.map { IdentityHash.subscription($0.app, $0.user, token: $0.content.token.text).bytes })
    }

    /// Returns the subscription's id, the target in the ledger.
    ///
    /// It is stable for a user, provider and token.
    private static func id(_ word: UserUpdate<SubscriptionUpdate>) -> String {
        let parts = [word.app.text, word.user.text, word.content.provider.rawValue, word.content.token.text]
        return TargetNumber.prefix + SHA256.digest(of: Array(parts.joined(separator: "\u{0}").utf8)).hexPrefix(bytes: 8)
    }

    /// A registration that was revoked before it arrived is stored as revoked, since it still shows the token's owner.
    private static let seed = Statement(
        """
        INSERT INTO push_subscriptions
            (app, profile_id, id, device_token, platform, provider, registered_at, last_seen_at, source_time,
             revoked_at, revoke_reason)
        SELECT r.app, r.user_id, CASE WHEN EXISTS (
                   SELECT FROM push_subscriptions o
                   WHERE o.app || '' = r.app AND o.profile_id = r.user_id AND o.id = r.id AND o.device_token <> r.token
                   OFFSET 0
               ) THEN 'sub_' || left(md5(r.id || ' ' || r.said_at::text), 16) ELSE r.id END, r.token, r.platform, r.provider,
               r.said_at, r.said_at, '-infinity',
               g.deleted_at, CASE WHEN g.deleted_at IS NOT NULL THEN \(RevokeReason.unsubscribed.literal) END
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[], $5::bytea[], $6::text[], $7::text[],
                    $8::text[], $9::text[])
             AS r (app, user_id, said_at, person, subject, id, token, platform, provider)
        LEFT JOIN tombstones g
            ON g.app = ANY (ARRAY[r.app]) AND g.subject_hash = r.subject AND g.deleted_at >= r.said_at
        WHERE \(Tombstone.spares("r.person")) AND NOT EXISTS (
            SELECT FROM push_subscriptions o
            WHERE o.app || '' = r.app AND o.profile_id = r.user_id AND o.device_token = r.token
              AND o.provider = r.provider
            OFFSET 0
        )
        ORDER BY r.app, r.user_id, r.id
        ON CONFLICT (app, profile_id, id) DO NOTHING
        RETURNING app, profile_id, id
        """
    )

    /// A subscription is found by its token, since its id outlives the token from which it was made.
    private static let isDevice = """
        t.app || '' = r.app AND t.profile_id = ANY (ARRAY[r.user_id]) AND t.device_token = r.token
          AND t.provider = r.provider
        """

    /// Changes the token unless the new token was revoked since: then the device has logged out, and the rotation
    /// arrived late.
    private static let rotate = Statement(
        """
        UPDATE push_subscriptions t SET device_token = r.token, renamed_at = r.said_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::bytea[])
             AS r (app, user_id, said_at, former, token, subject)
        WHERE t.app || '' = r.app AND t.profile_id = ANY (ARRAY[r.user_id]) AND t.device_token = r.former
          AND t.revoked_at IS NULL AND t.source_time <= r.said_at AND NOT EXISTS (
              SELECT FROM push_subscriptions o
              WHERE o.app || '' = r.app AND o.profile_id = r.user_id AND o.device_token = r.token OFFSET 0
          ) AND NOT EXISTS (
              SELECT FROM tombstones g
              WHERE g.app = r.app AND g.subject_hash = r.subject AND g.deleted_at >= r.said_at OFFSET 0
          )
        """
    )

    /// Ends the former token's subscription if the new token was registered already or is revoked.
    private static let replace = Statement(
        """
        UPDATE push_subscriptions t SET revoked_at = r.said_at, revoke_reason = \(RevokeReason.replaced.literal)
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[]) AS r (app, user_id, said_at, former)
        WHERE t.app || '' = r.app AND t.profile_id = ANY (ARRAY[r.user_id]) AND t.device_token = r.former
          AND t.revoked_at IS NULL AND t.source_time <= r.said_at
        """
    )

    private static let noteRegistration = Statement(
        """
        UPDATE push_subscriptions t
        SET registered_at = greatest(t.registered_at, r.said_at), last_seen_at = greatest(t.last_seen_at, r.said_at),
            vouched_time = greatest(t.vouched_time, r.vouched_at)
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::timestamptz[])
             AS r (app, user_id, said_at, token, provider, vouched_at)
        WHERE \(isDevice)
        """
    )

    /// A registration reactivates a subscription that was revoked before it, and never one that was revoked after it.
    ///
    /// A revocation by the source has the source's timestamp. A revocation by Bellhop (after a provider's answer,
    /// because of too many devices, or because of inactivity) has Bellhop's time, and the source's clock may be behind.
    /// Therefore the new registration's timestamp is compared with that of the revoked registration, since both come
    /// from the source's clock. A registration in flight during the revocation thus reactivates the device, and the
    /// provider's next answer revokes it again.
    ///
    /// A trigger makes a reactivated device, and a device whose platform or environment changes, unreached.
    private static let update = Statement(
        """
        UPDATE push_subscriptions t SET
            platform = r.platform, provider = r.provider,
            subscription = CASE WHEN r.subscription_given THEN r.subscription ELSE t.subscription END,
            permission = CASE WHEN r.permission_given THEN r.permission ELSE t.permission END,
            environment = CASE WHEN r.environment_given THEN r.environment ELSE t.environment END,
            revoked_at = NULL, revoke_reason = NULL, source_time = r.said_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::jsonb[],
                    $8::boolean[], $9::text[], $10::boolean[], $11::text[], $12::boolean[])
             AS r (app, user_id, said_at, token, platform, provider, subscription, subscription_given, permission,
                   permission_given, environment, environment_given)
        WHERE \(isDevice) AND t.source_time <= r.said_at
          AND (t.revoked_at IS NULL OR CASE
              WHEN t.revoke_reason IN (\(RevokeReason.saidBySource)) THEN t.revoked_at ELSE t.source_time
          END < r.said_at)
        """
    )

    /// Revokes all rows of a token, of any user, except the one registered last.
    private static let settleOwnership = Statement(
        """
        SELECT settle_token(r.app, r.token)
        FROM (SELECT DISTINCT app, token FROM unnest($1::text[], $2::text[]) AS r (app, token)) AS r
        """
    )

    /// The maximum number of active devices per user.
    ///
    /// It prevents a faulty or hostile client from creating a fan-out for one user.
    static let mostDevices = 20

    /// Revokes the excess devices that were seen least recently.
    private static let capDevices = Statement(
        """
        UPDATE push_subscriptions t SET revoked_at = now(), revoke_reason = \(RevokeReason.tooMany.literal)
        FROM (
            SELECT s.app, s.profile_id, s.id, row_number() OVER (
                PARTITION BY s.app, s.profile_id ORDER BY s.last_seen_at DESC, s.registered_at DESC, s.id
            ) AS rank
            FROM (SELECT DISTINCT app, user_id FROM unnest($1::text[], $2::text[]) AS r (app, user_id)) AS r
            JOIN push_subscriptions s
                ON s.app || '' = r.app AND s.profile_id = ANY (ARRAY[r.user_id]) AND s.revoked_at IS NULL
        ) AS ranked
        WHERE ranked.rank > \(mostDevices) AND t.app || '' = ranked.app
          AND t.profile_id = ANY (ARRAY[ranked.profile_id]) AND t.id = ranked.id
        """
    )

    private static let leaveTombstones = Statement(
        """
        INSERT INTO tombstones AS t (app, subject_hash, deleted_at)
        SELECT r.app, r.subject, max(r.said_at)
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[], $5::text[], $6::boolean[])
             AS r (app, user_id, said_at, subject, token, is_from_client)
        WHERE NOT r.is_from_client OR EXISTS (
            SELECT FROM push_subscriptions o
            WHERE o.app || '' = r.app AND o.profile_id = r.user_id AND o.device_token = r.token
              AND coalesce(o.renamed_at <= r.said_at - interval '1 hour', true)
            OFFSET 0)
        GROUP BY r.app, r.subject ORDER BY r.app, r.subject
        ON CONFLICT (app, subject_hash) DO UPDATE
            SET deleted_at = greatest(t.deleted_at, excluded.deleted_at), recorded_at = now()
        """
    )

    private static let revoke = Statement(
        """
        UPDATE push_subscriptions t
        SET revoked_at = r.said_at, revoke_reason = \(RevokeReason.unsubscribed.literal), source_time = r.said_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[]) AS r (app, user_id, said_at, token)
        WHERE t.app || '' = r.app AND t.profile_id = ANY (ARRAY[r.user_id]) AND t.device_token = r.token
          AND t.source_time <= r.said_at
        """
    )
}

/// Adds new devices to notifications that still wait for their users' quiet hours or digests.
///
/// Notifications that were sent or are being sent keep their devices: a retry or a replay adds none.
enum NewDeviceDeliveries {
    /// `fresh` contains the rows that a registration inserted: app, user and subscription id.
    static func join(_ fresh: Rows, on connection: PostgresConnection) throws(PostgresError) {
        guard !fresh.isEmpty else { return }
        var columns: [[String?]] = [[], [], []]
        for row in fresh.indices {
            for place in columns.indices { columns[place].append(try fresh.text(row, .index(place))) }
        }
        let waits: Parameter = .textArray(Wait.Reason.allCases.map(\.rawValue))
        _ = try connection.run(join, columns.map { .textArray($0) } + [waits])
    }

    private static let join = Statement("SELECT join_late_devices($1, $2, $3, $4)")
}
