package import BellhopRules
package import Postgres

/// What is known of users, looked up for a whole batch at once.
package struct RecipientBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// One round trip, whatever the size.
    ///
    /// A user of whom nothing is stored gets the defaults.
    package func recipients(of keys: Set<RecipientKey>) async throws(PostgresError) -> [RecipientKey: Recipient] {
        guard !keys.isEmpty else { return [:] }
        let order = Array(keys)
        let parameters = RecipientKey.parameters(order)
        return try await pool.withConnection { (connection) throws(PostgresError) in
            let answers = try connection.pipeline([
                (statement: Self.people, parameters: parameters), (statement: Self.devices, parameters: parameters),
            ])
            var found = Array(repeating: Recipient(), count: order.count)
            try Self.readPeople(answers[0], into: &found)
            try Self.readDevices(answers[1], into: &found)
            return Dictionary(uniqueKeysWithValues: zip(order, found))
        }
    }

    private static func readPeople(_ rows: Rows, into found: inout [Recipient]) throws(PostgresError) {
        for row in rows.indices {
            guard let position = try rows.place(row, 0, in: found.indices) else { continue }
            found[position].locale = try rows.optionalText(row, 1).flatMap(LanguageTag.init(validating:))
            found[position].timezone = try rows.optionalText(row, 2).flatMap(TimeZoneName.init(validating:))
            found[position].pushEnabled = try rows.optionalBoolean(row, 3) ?? true
            found[position].preferences = try rows.optionalJSON(row, 4).flatMap(preferences)
            found[position].emailEnabled = try rows.optionalBoolean(row, 5) ?? true
            found[position].email = try rows.optionalText(row, 6).flatMap(EmailAddress.init(validating:))
        }
    }

    private static func readDevices(_ rows: Rows, into found: inout [Recipient]) throws(PostgresError) {
        for row in rows.indices {
            guard let position = try rows.place(row, 0, in: found.indices),
                let token = DeviceToken(validating: try rows.text(row, 2)),
                let platform = DevicePlatform(rawValue: try rows.text(row, 3)),
                let provider = PushProvider(rawValue: try rows.text(row, 4))
            else { continue }
            if let unread = try rows.optionalInteger(row, 7) { found[position].unread = Int(unread) }
            found[position].devices.append(
                Device(
                    subscription: try rows.text(row, 1),
                    token: token,
                    platform: platform,
                    provider: provider,
                    permission: try rows.optionalText(row, 5).flatMap(PushPermission.init(rawValue:)),
                    environment: try rows.optionalText(row, 6).flatMap(PushEnvironment.init(rawValue:)),
                    webPushKeys: try rows.optionalJSON(row, 8).flatMap(object).flatMap(WebPushKeys.init(subscription:)),
                    wasReached: try rows.boolean(row, 9)
                )
            )
        }
    }

    /// A document that cannot be read says nothing: the defaults hold.
    private static func preferences(_ json: [UInt8]) -> Preferences? {
        object(json).flatMap { Preferences($0) }
    }

    private static func object(_ json: [UInt8]) -> JSONObject? {
        guard case .success(.object(let document)) = JSONParser(limits: .event).parse(json) else { return nil }
        return document
    }

    private static let people = Statement(
        """
        SELECT k.position, r.locale, r.timezone, r.push_enabled, p.preferences, r.email_enabled, r.email
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (app, user_id, position)
        LEFT JOIN LATERAL (
            SELECT * FROM recipients WHERE app = k.app AND user_id = k.user_id OFFSET 0
        ) AS r ON true
        LEFT JOIN LATERAL (
            SELECT * FROM notification_preferences WHERE app = k.app AND profile_id = k.user_id OFFSET 0
        ) AS p ON true
        WHERE r.app IS NOT NULL OR p.app IS NOT NULL
        """,
        effect: .reads
    )

    /// Only Apple's devices show a number that somebody has to tell them.
    ///
    /// A user's devices come in the order of their key, which no other index of theirs has.
    private static let devices = Statement(
        """
        SELECT k.position, s.id, s.device_token, s.platform, s.provider, s.permission, s.environment,
               CASE s.platform WHEN 'ios' THEN (
                   SELECT count(*) FROM (
                       SELECT FROM notifications n
                       WHERE n.app = s.app AND n.user_id = s.profile_id AND n.read_at IS NULL LIMIT 10000
                   ) AS unread
               ) END,
               CASE WHEN s.provider = 'webpush' THEN s.subscription END, s.reached_at IS NOT NULL
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (app, user_id, position)
        CROSS JOIN LATERAL (
            SELECT * FROM push_subscriptions
            WHERE app = k.app AND profile_id = k.user_id AND revoked_at IS NULL
            ORDER BY id OFFSET 0
        ) AS s
        """,
        effect: .reads
    )
}
