package import BellhopRules
package import Postgres

/// A condition for writing a user's update, checked under the same locks.
package enum Precondition: Hashable, Sendable {
    /// The user has a stored recipient.
    case isKnown
    /// The user has no stored preferences.
    case hasNoPreferences
    /// The stored preferences are still this JSON, or still absent for `nil`.
    case preferencesStand(String?)
    /// The user follows fewer than `than` topics, not counting the one named.
    case followsFewer(than: Int, beside: Topic)
    /// The reminder does not exist, and the user has fewer than `fewerThan` others.
    case lacksReminder(ReminderID, fewerThan: Int)
    /// The reminder exists.
    case hasReminder(ReminderID)
    /// The reminder exists and was not updated since.
    case reminderStands(ReminderID, since: Timestamp)
    /// The user has ever followed the topic. Deleted rows are not considered.
    case knowsTopic(Topic)
    /// The user follows the topic.
    case follows(Topic)
    /// The user has ever had a device with this token. Deleted rows are not considered.
    case knowsToken(DeviceToken)
    /// The user has had fewer than `than` devices, not counting those of the token.
    case hasFewerDevices(than: Int, beside: DeviceToken)

    var question: (statement: Statement, parameters: [Parameter]) {
        switch self {
        case .isKnown: (Self.known, [])
        case .hasNoPreferences: (Self.noPreferences, [])
        case .preferencesStand(let text): (Self.samePreferences, [text.map(Parameter.text) ?? .null])
        case .followsFewer(let most, let topic): (Self.fewerFollows, [.integer(Int64(most)), .text(topic.text)])
        case .lacksReminder(let id, let most): (Self.noReminder, [.integer(Int64(most)), .text(id.text)])
        case .hasReminder(let id): (Self.reminder, [.text(id.text), .null])
        case .reminderStands(let id, let time): (Self.reminder, [.text(id.text), .instant(time.microseconds)])
        case .knowsTopic(let topic): (Self.topic, [.text(topic.text), .boolean(true)])
        case .follows(let topic): (Self.topic, [.text(topic.text), .boolean(false)])
        case .knowsToken(let token): (Self.token, [.text(token.text)])
        case .hasFewerDevices(let most, let token): (Self.fewerDevices, [.integer(Int64(most)), .text(token.text)])
        }
    }

    /// The number of ended rows that a user may have per active one.
    ///
    /// They are kept as long as an older update may arrive.
    private static let ended = 4

    private static let known = Statement(
        "SELECT EXISTS (SELECT FROM recipients WHERE app = $1 AND user_id = $2)",
        effect: .reads
    )

    private static let noPreferences = Statement(
        "SELECT NOT EXISTS (SELECT FROM notification_preferences WHERE app = $1 AND profile_id = $2)",
        effect: .reads
    )

    private static let samePreferences = Statement(
        """
        SELECT (SELECT preferences FROM notification_preferences WHERE app = $1 AND profile_id = $2)
               IS NOT DISTINCT FROM $3::text::jsonb
        """,
        effect: .reads
    )

    private static let fewerFollows = Statement(
        """
        SELECT count(*) FILTER (WHERE removed_at IS NULL) < $3 AND count(*) < (1 + \(ended)) * $3 FROM follows
        WHERE app = $1 AND user_id = $2 AND topic <> $4
        """,
        effect: .reads
    )

    private static let noReminder = Statement(
        """
        SELECT count(*) FILTER (WHERE removed_at IS NULL AND id <> $4) < $3
           AND count(*) FILTER (WHERE id <> $4) < (1 + \(ended)) * $3
           AND count(*) FILTER (WHERE removed_at IS NULL AND id = $4) = 0
        FROM reminders
        WHERE app = $1 AND user_id = $2
        """,
        effect: .reads
    )

    private static let reminder = Statement(
        """
        SELECT EXISTS (
            SELECT FROM reminders
            WHERE app = $1 AND user_id = $2 AND coalesce(removed_at, 'infinity') = 'infinity' AND id = $3
              AND coalesce(source_time = $4, true)
        )
        """,
        effect: .reads
    )

    private static let topic = Statement(
        """
        SELECT EXISTS (
            SELECT FROM follows WHERE app = $1 AND user_id = $2 AND topic = $3 AND ($4 OR removed_at IS NULL)
        )
        """,
        effect: .reads
    )

    private static let token = Statement(
        """
        SELECT EXISTS (
            SELECT FROM push_subscriptions WHERE app = $1 AND profile_id = $2 AND device_token = $3
        )
        """,
        effect: .reads
    )

    private static let fewerDevices = Statement(
        """
        SELECT count(*) < $3 FROM push_subscriptions WHERE app = $1 AND profile_id = $2 AND device_token <> $4
        """,
        effect: .reads
    )
}

/// The result of a user's update.
package enum Hearing: Hashable, Sendable {
    case heard
    /// The condition does not hold, and nothing was written.
    case preconditionFailed
    /// The user was erased by a source whose clock is ahead. Until that time nothing can be written for the user.
    case erased
}

extension UserStore {
    /// Writes a user's update with the statements for feed messages, or nothing if `condition` does not hold.
    ///
    /// The update is newer than all updates of the same object by a source, even if the source's clock is ahead. This
    /// applies to that object only, so that a wrong clock does not affect the user's other data. With `isDefault` it is a
    /// device's report of its language and time zone.
    package func say(
        _ update: FeedUpdate,
        as reader: UserKey,
        at now: Timestamp,
        where condition: Precondition? = nil,
        isDefault: Bool = false
    ) async throws(PostgresError) -> Hearing {
        guard update.app == reader.app, update.change.user == reader.user else { return .preconditionFailed }
        return try await act(as: reader) { (connection) throws(PostgresError) in
            try FeedLocks([FeedEntry(client: update, saidAt: now, vouchedAt: nil)]).take(on: connection)
            if let question = condition?.question {
                let answer = try connection.run(question.statement, Self.who(reader) + question.parameters)
                guard try answer.boolean(0, 0) else { return .preconditionFailed }
            }
            let (latest, key) = Self.latest(update.change)
            let person = IdentityHash.recipient(reader.app, reader.user)
            let moment: [Parameter] = [.instant(now.microseconds), .bytes(person.bytes)]
            let answer = try connection.run(latest, Self.who(reader) + moment + key)
            guard try !answer.boolean(0, 1) else { return .erased }
            // A token issued after an erasure proves that the app's servers have created the user again.
            let erasedAt = try answer.timestamp(0, 2)
            let vouchedAt = erasedAt.flatMap { erased in issuedAt.flatMap { $0 > erased ? $0 : nil } }
            let saidAt = try answer.moment(0, 0)
            let said = FeedEntry(client: update, saidAt: saidAt, vouchedAt: vouchedAt, isDefault: isDefault)
            try FeedEntry.apply([said], on: connection)
            return .heard
        }
    }

    /// Returns the statement that reads the latest timestamp of the updated object, and the object's key.
    private static func latest(_ change: FeedChange) -> (statement: Statement, key: [Parameter]) {
        switch change {
        case .recipientUpserted, .recipientDeleted, .notificationRead: (latestOfSettings, [])
        case .subscriptionUpserted(let update):
            (latestOfDevice, [.textArray([update.token.text, update.replaces?.text])])
        case .subscriptionRevoked(_, let token): (latestOfDevice, [.textArray([token.text])])
        case .followAdded(let update): (latestOfFollow, [.text(update.topic.text)])
        case .followRemoved(_, let topic, _): (latestOfFollow, [.text(topic.text)])
        case .reminderSet(let update): (latestOfReminder, [.text(update.id.text)])
        case .reminderRemoved(_, let id): (latestOfReminder, [.text(id.text)])
        }
    }

    /// Returns a statement for the update's timestamp, whether the user is erased at that time, and the time of the
    /// last erasure.
    private static func latest(_ words: String) -> Statement {
        Statement(
            """
            SELECT w.said_at, coalesce(g.deleted_at >= w.said_at, false), g.deleted_at
            FROM (SELECT greatest($3, max(source_time) + interval '1 us') AS said_at FROM (\(words)) AS words) AS w
            LEFT JOIN LATERAL (
                SELECT t.deleted_at FROM tombstones t
                WHERE t.app = ANY (ARRAY[$1::text]) AND t.subject_hash = $4 OFFSET 0
            ) AS g ON true
            """,
            effect: .reads
        )
    }

    private static let latestOfSettings = latest(
        """
        SELECT source_time FROM recipients WHERE app = $1 AND user_id = $2
        UNION ALL SELECT source_time FROM notification_preferences WHERE app = $1 AND profile_id = $2
        """
    )

    private static let latestOfDevice = latest(
        """
        SELECT source_time FROM push_subscriptions
        WHERE app = $1 AND profile_id = $2 AND device_token = ANY ($5::text[])
        """
    )

    private static let latestOfFollow = latest(
        "SELECT source_time FROM follows WHERE app = $1 AND user_id = $2 AND topic = $5"
    )

    private static let latestOfReminder = latest(
        "SELECT source_time FROM reminders WHERE app = $1 AND user_id = $2 AND id = $5"
    )
}
