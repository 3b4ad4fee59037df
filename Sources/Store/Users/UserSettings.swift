package import BellhopRules
package import Postgres

/// A user's settings other than the preferences per type.
package struct UserSettings: Hashable, Sendable {
    package let pushEnabled: Bool
    /// Whether the user receives mails.
    ///
    /// It is false if the address has opted out.
    package let emailEnabled: Bool
    /// Whether the user wants mails, regardless of an opt-out of the address.
    package let wantsEmail: Bool
    package let locale: LanguageTag?
    package let timezone: TimeZoneName?
    package let email: EmailAddress?

    /// The settings of a user who has stored none.
    package static let usual = UserSettings(
        pushEnabled: true,
        emailEnabled: true,
        wantsEmail: true,
        locale: nil,
        timezone: nil,
        email: nil
    )

    private init(
        pushEnabled: Bool,
        emailEnabled: Bool,
        wantsEmail: Bool,
        locale: LanguageTag?,
        timezone: TimeZoneName?,
        email: EmailAddress?
    ) {
        self.pushEnabled = pushEnabled
        self.emailEnabled = emailEnabled
        self.wantsEmail = wantsEmail
        self.locale = locale
        self.timezone = timezone
        self.email = email
    }

    /// Creates the settings from the answer for one user; ``usual`` if the user has stored none.
    init(_ rows: Rows) throws(PostgresError) {
        self = rows.isEmpty ? .usual : try UserSettings(rows, 0)
    }

    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        self.init(
            pushEnabled: try rows.boolean(row, 0),
            emailEnabled: try rows.boolean(row, 1),
            wantsEmail: try rows.boolean(row, 5),
            locale: try rows.optionalText(row, 2).flatMap(LanguageTag.init(validating:)),
            timezone: try rows.optionalText(row, 3).flatMap(TimeZoneName.init(validating:)),
            email: try rows.optionalText(row, 4).flatMap(EmailAddress.init(validating:))
        )
    }
}

/// A topic that a user follows.
package struct UserFollow: Hashable, Sendable {
    package let topic: Topic
    package let isMuted: Bool
    package let role: FollowRole?
}

/// An active device of a user.
package struct UserDevice: Hashable, Sendable {
    package let id: String
    package let platform: DevicePlatform
    package let provider: PushProvider
    package let permission: PushPermission?
    package let environment: PushEnvironment?
}

/// A reminder of a user.
package struct UserReminder: Sendable {
    /// The reminder with its effective time zone: its own or, if it has none, the user's.
    package let reminder: Reminder
    /// The reminder's own time zone.
    package let timezone: TimeZoneName?
    /// The timestamp of its last update.
    package let saidAt: Timestamp
}

extension UserStore {
    package func settings(of reader: UserKey) async throws(PostgresError) -> UserSettings {
        try UserSettings(try await ask(reader, [(Self.settings, Self.who(reader))])[0])
    }

    /// Returns the stored document as JSON; `nil` if there is none.
    package func preferences(of reader: UserKey) async throws(PostgresError) -> [UInt8]? {
        let rows = try await ask(reader, [(Self.preferences, Self.who(reader))])[0]
        return rows.isEmpty ? nil : try rows.optionalJSON(0, 0)
    }

    /// Returns the topics that a user follows, in the order of their names.
    package func follows(of reader: UserKey) async throws(PostgresError) -> [UserFollow] {
        let rows = try await ask(reader, [(Self.follows, Self.who(reader))])[0]
        return try rows.compactMap { (rows, row) throws(PostgresError) -> UserFollow? in
            guard let topic = Topic(validating: try rows.text(row, 0)) else { return nil }
            let role = try rows.optionalText(row, 2).flatMap(FollowRole.init(validating:))
            return UserFollow(topic: topic, isMuted: try rows.boolean(row, 1), role: role)
        }
    }

    /// Returns a user's reminders, the earliest time of day first.
    package func reminders(of reader: UserKey) async throws(PostgresError) -> [UserReminder] {
        let rows = try await ask(reader, [(Self.reminders, Self.who(reader))])[0]
        return try rows.compactMap { (rows, row) throws(PostgresError) -> UserReminder? in
            guard let reminder = try Reminder(rows, row) else { return nil }
            let own = try rows.optionalText(row, 12).flatMap(TimeZoneName.init(validating:))
            return UserReminder(reminder: reminder, timezone: own, saidAt: try rows.moment(row, 13))
        }
    }

    /// Returns the device with this token; `nil` if the user has no such active device.
    package func device(_ token: DeviceToken, of reader: UserKey) async throws(PostgresError) -> UserDevice? {
        let rows = try await ask(reader, [(Self.device, Self.who(reader) + [.text(token.text)])])[0]
        guard !rows.isEmpty, let platform = DevicePlatform(rawValue: try rows.text(0, 1)),
            let provider = PushProvider(rawValue: try rows.text(0, 2))
        else { return nil }
        return UserDevice(
            id: try rows.text(0, 0),
            platform: platform,
            provider: provider,
            permission: try rows.optionalText(0, 3).flatMap(PushPermission.init(rawValue:)),
            environment: try rows.optionalText(0, 4).flatMap(PushEnvironment.init(rawValue:))
        )
    }

    /// Stores the user's answer to the permission prompt of a device; returns false if the user has no device with this
    /// token.
    package func note(
        _ permission: PushPermission?,
        on token: DeviceToken,
        of reader: UserKey,
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        let parameters =
            Self.who(reader) + [
                .text(token.text), permission.map { .text($0.rawValue) } ?? .null, .instant(now.microseconds),
            ]
        return try await ask(reader, [(Self.notePermission, parameters)])[0].affectedCount > 0
    }

    /// Ends the mails to an address, for all users with it.
    ///
    /// Without a hash, it is the user's current address.
    package func optOut(of reader: UserKey, addressHash: [UInt8]) async throws(PostgresError) {
        _ = try await ask(reader, [(Self.optOut, Self.who(reader) + [.bytes(addressHash)])])
    }

    private static let optOut = Statement("SELECT opt_out_of_mail($1, $2, $3)")

    /// Mails are also off if the address has opted out by a link.
    static let settings = Statement(
        """
        SELECT r.push_enabled, r.email_enabled AND coalesce(p.email_enabled, true), r.locale, r.timezone, r.email,
            r.email_enabled
        FROM recipients r LEFT JOIN people p ON p.app = r.app AND p.user_id = r.user_id
        WHERE r.app = $1 AND r.user_id = $2
        """,
        effect: .reads
    )

    private static let preferences = Statement(
        "SELECT preferences FROM notification_preferences WHERE app = $1 AND profile_id = $2",
        effect: .reads
    )

    private static let follows = Statement(
        """
        SELECT topic, muted, role FROM follows WHERE app = $1 AND user_id = $2 AND removed_at IS NULL ORDER BY topic
        """,
        effect: .reads
    )

    private static let reminders = Statement(
        """
        SELECT r.app, r.user_id, r.id, r.local_time, r.days, coalesce(r.timezone, p.timezone), r.title, r.body,
               r.event_type, r.planned_from, r.last_fired_on::text, coalesce(r.held_until, r.planned_from), r.timezone, r.source_time
        FROM reminders r LEFT JOIN recipients p ON p.app = r.app AND p.user_id = r.user_id
        WHERE r.app = $1 AND r.user_id = $2 AND coalesce(r.removed_at, 'infinity') = 'infinity'
        ORDER BY r.local_time, r.id
        """,
        effect: .reads
    )

    private static let device = Statement(
        """
        SELECT id, platform, provider, permission, environment FROM push_subscriptions
        WHERE app = $1 AND profile_id = $2 AND device_token = $3 AND revoked_at IS NULL
        ORDER BY registered_at DESC LIMIT 1
        """,
        effect: .reads
    )

    private static let notePermission = Statement(
        """
        UPDATE push_subscriptions
        SET permission = $4, last_seen_at = greatest(last_seen_at, $5), source_time = greatest(source_time, $5)
        WHERE app = $1 AND profile_id = $2 AND device_token = $3 AND revoked_at IS NULL
        """
    )
}
