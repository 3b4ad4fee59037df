package import BellhopRules
package import Postgres

/// What must be so when a user's word is written, looked at under the same locks.
package enum ReaderCondition: Hashable, Sendable {
    /// Something is known of them.
    case isKnown
    /// They have not said yet what they want.
    case hasNoPreferences
    /// They follow fewer topics than this beside the one named.
    case followsFewer(than: Int, beside: Topic)
    /// They have fewer reminders than this beside the one named.
    case hasFewerReminders(than: Int, beside: ReminderID)
    /// The reminder is there.
    case hasReminder(ReminderID)

    var question: (statement: Statement, parameters: [Parameter]) {
        switch self {
        case .isKnown: (Self.known, [])
        case .hasNoPreferences: (Self.noPreferences, [])
        case .followsFewer(let most, let topic): (Self.fewerFollows, [.integer(Int64(most)), .text(topic.text)])
        case .hasFewerReminders(let most, let id): (Self.fewerReminders, [.integer(Int64(most)), .text(id.text)])
        case .hasReminder(let id): (Self.reminder, [.text(id.text)])
        }
    }

    private static let known = Statement(
        "SELECT EXISTS (SELECT FROM recipients WHERE app = $1 AND user_id = $2)",
        effect: .reads
    )

    private static let noPreferences = Statement(
        "SELECT NOT EXISTS (SELECT FROM notification_preferences WHERE app = $1 AND profile_id = $2)",
        effect: .reads
    )

    private static let fewerFollows = Statement(
        """
        SELECT count(*) < $3 FROM follows
        WHERE app = $1 AND user_id = $2 AND removed_at IS NULL AND topic <> $4
        """,
        effect: .reads
    )

    private static let fewerReminders = Statement(
        """
        SELECT count(*) < $3 FROM reminders
        WHERE app = $1 AND user_id = $2 AND coalesce(removed_at, 'infinity') = 'infinity' AND id <> $4
        """,
        effect: .reads
    )

    private static let reminder = Statement(
        """
        SELECT EXISTS (
            SELECT FROM reminders
            WHERE app = $1 AND user_id = $2 AND coalesce(removed_at, 'infinity') = 'infinity' AND id = $3
        )
        """,
        effect: .reads
    )
}

extension ReaderDesk {
    /// Writes what a user says of themselves, by the statements that write what is fed; false where `condition` does not
    /// hold, and nothing was written.
    ///
    /// Said here and now, it is newer than whatever a source has said, even one whose clock is ahead of ours.
    package func say(
        _ update: FeedUpdate,
        as reader: RecipientKey,
        at now: Timestamp,
        where condition: ReaderCondition? = nil
    ) async throws(PostgresError) -> Bool {
        guard update.app == reader.app, update.change.user == reader.user else { return false }
        return try await act(as: reader) { (connection) throws(PostgresError) in
            let said = FeedEntry(update: update, arrival: now)
            try FeedLocks([said]).take(on: connection)
            if let question = condition?.question {
                let answer = try connection.run(question.statement, Self.who(reader) + question.parameters)
                guard try answer.boolean(0, 0) else { return false }
            }
            let time = try connection.run(Self.latest, Self.who(reader) + [.instant(now.microseconds)]).moment(0, 0)
            try FeedBook.apply([FeedEntry(update: update, arrival: time)], on: connection)
            return true
        }
    }

    private static let latest = Statement(
        """
        SELECT greatest($3, max(source_time) + interval '1 us') FROM (
            SELECT source_time FROM recipients WHERE app = $1 AND user_id = $2
            UNION ALL SELECT source_time FROM notification_preferences WHERE app = $1 AND profile_id = $2
            UNION ALL SELECT source_time FROM push_subscriptions WHERE app = $1 AND profile_id = $2
            UNION ALL SELECT source_time FROM follows WHERE app = $1 AND user_id = $2
            UNION ALL SELECT source_time FROM reminders WHERE app = $1 AND user_id = $2
        ) AS words
        """,
        effect: .reads
    )
}
