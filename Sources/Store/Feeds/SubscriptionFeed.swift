import BellhopRules
import Cryptography
import Postgres

/// `subscription.upserted` and `subscription.revoked`.
enum SubscriptionFeed {
    /// A token belongs to the last user who registered it, even when that registration was revoked since: a word that
    /// was under way for longer must not hand the device back.
    ///
    /// Two workers that hear of one token at once take turns by `FeedLocks`, or neither would see the other's row.
    static func upsert(_ words: [Word<SubscriptionUpdate>], on connection: PostgresConnection) throws(PostgresError) {
        let who = Word.who(words)
        let token: Parameter = .textArray(words.map(\.content.token.text))
        let id: Parameter = .textArray(words.map(id))
        let platform: Parameter = .textArray(words.map(\.content.platform.rawValue))
        let provider: Parameter = .textArray(words.map(\.content.provider.rawValue))
        try rotate(words.filter { $0.content.replaces != nil }, on: connection)
        let vouched = Word.vouched(words)
        let fresh = try connection.run(seed, who + [subjects(words), id, token, platform, provider])
        _ = try connection.run(noteRegistration, Array(who.prefix(3)) + [token, provider, vouched])
        _ = try connection.run(
            update,
            Array(who.prefix(3)) + [
                token, platform, provider,
                .jsonArray(words.map { $0.content.subscription.value?.jsonBytes }),
                .booleanArray(words.map(\.content.subscription.isGiven)),
                .textArray(words.map { $0.content.permission.value?.rawValue }),
                .booleanArray(words.map(\.content.permission.isGiven)),
                .textArray(words.map { $0.content.environment.value?.rawValue }),
                .booleanArray(words.map(\.content.environment.isGiven)),
            ]
        )
        _ = try connection.run(settleOwnership, [who[0], token])
        _ = try connection.run(capDevices, Array(who.prefix(2)))
        try LateDevices.join(fresh, on: connection)
    }

    /// A device that has a new token keeps its subscription, and with it what waits for it in the ledger.
    ///
    /// The former token is buried too, for the case that its own registration is still under way.
    private static func rotate(
        _ words: [Word<SubscriptionUpdate>],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        guard !words.isEmpty else { return }
        let who = Word.who(words)
        let former = words.map { $0.content.replaces?.text ?? "" }
        try bury(words, former, on: connection)
        let tokens: Parameter = .textArray(words.map(\.content.token.text))
        _ = try connection.run(rotate, Array(who.prefix(3)) + [.textArray(former), tokens, subjects(words)])
        _ = try connection.run(replace, Array(who.prefix(3)) + [.textArray(former)])
        try FollowFeed.rename(words, on: connection)
    }

    static func revoke(_ words: [Word<DeviceToken>], on connection: PostgresConnection) throws(PostgresError) {
        let who = Word.who(words)
        try bury(words, words.map(\.content.text), on: connection)
        _ = try connection.run(revoke, Array(who.prefix(3)) + [.textArray(words.map(\.content.text))])
    }

    /// Leaves tombstones of tokens that their users no longer have.
    ///
    /// A client may name any token as its former one. So it buries only a token that the user has had, and one that itself
    /// took another's place only after an hour: a client cannot fill the table by renaming one device again and again.
    private static func bury<Content>(
        _ words: [Word<Content>],
        _ tokens: [String],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let who = Word.who(words)
        let gone: Parameter = .bytesArray(
            zip(words, tokens).map { SubjectHash.subscription($0.app, $0.user, token: $1).bytes }
        )
        let isFromClient: Parameter = .booleanArray(words.map(\.isFromClient))
        _ = try connection.run(
            leaveTombstones,
            Array(who.prefix(3)) + [gone, .textArray(tokens), isFromClient]
        )
    }

    /// What the tombstones of the tokens are found by.
    private static func subjects(_ words: [Word<SubscriptionUpdate>]) -> Parameter {
        .bytesArray(words.map { SubjectHash.subscription($0.app, $0.user, token: $0.content.token.text).bytes })
    }

    /// Stable for as long as user, provider and token stay: the ledger's target.
    private static func id(_ word: Word<SubscriptionUpdate>) -> String {
        let parts = [word.app.text, word.user.text, word.content.provider.rawValue, word.content.token.text]
        return TargetNumber.prefix + SHA256.digest(of: Array(parts.joined(separator: "\u{0}").utf8)).hexPrefix(bytes: 8)
    }

    /// A registration that was revoked before it was heard is kept as revoked: it still says whose the token was.
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

    /// A subscription is found by its token: its id outlives the token that it was made of.
    private static let isDevice = """
        t.app || '' = r.app AND t.profile_id = ANY (ARRAY[r.user_id]) AND t.device_token = r.token
          AND t.provider = r.provider
        """

    /// Not where the new token was revoked since: the device has logged out, and the rotation was only heard later.
    private static let rotate = Statement(
        """
        UPDATE push_subscriptions t SET device_token = r.token, reached_at = NULL, renamed_at = r.said_at
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

    /// Where the new token was known already, or is revoked, the former one's subscription ends.
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

    /// A registration revives what was revoked before it, never what was revoked after it.
    ///
    /// What the source itself ended stands with the time that the source gave it. What we ended (a provider's word, too
    /// many devices, none heard of for long) stands with the time of our own clock, and the source's may be behind it: that
    /// is compared with the registration that was ended, by the clock that told of both. So a registration that was under
    /// way while its device was ended revives it, and the provider's next answer ends it again.
    ///
    /// A device that lives again, or says that it is of another kind, has to be reached anew before it counts.
    private static let update = Statement(
        """
        UPDATE push_subscriptions t SET
            platform = r.platform, provider = r.provider,
            subscription = CASE WHEN r.subscription_given THEN r.subscription ELSE t.subscription END,
            permission = CASE WHEN r.permission_given THEN r.permission ELSE t.permission END,
            environment = CASE WHEN r.environment_given THEN r.environment ELSE t.environment END,
            reached_at = CASE WHEN t.revoked_at IS NULL AND t.platform = r.platform AND NOT (
                r.environment_given AND t.environment IS DISTINCT FROM r.environment
            ) THEN t.reached_at END,
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

    /// Of the rows of one token all but the one registered last are revoked, whoever they belong to.
    private static let settleOwnership = Statement(
        """
        SELECT settle_token(r.app, r.token)
        FROM (SELECT DISTINCT app, token FROM unnest($1::text[], $2::text[]) AS r (app, token)) AS r
        """
    )

    /// Live devices of one user at most: a bug or a hostile client must not make a fan-out of one person.
    static let mostDevices = 20

    /// Those that were seen least lately give way.
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
