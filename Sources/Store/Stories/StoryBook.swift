import BellhopRules
package import Postgres

/// Reads the stored data of one event for one user.
///
/// It changes nothing.
package struct StoryBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of an admin or a worker.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns the data from one snapshot, except the user's settings, which are read as the worker reads them.
    package func story(
        of subject: NotificationStory.Subject,
        for recipient: RecipientKey
    ) async throws(PostgresError) -> NotificationStory {
        let known = try await RecipientBook(pool: pool).recipients(of: [recipient])
        let page = StoryPage(recipient: recipient, subject: subject, person: known[recipient] ?? Recipient())
        return try await pool.transaction { (connection) throws(PostgresError) in
            try connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return try page.read(connection)
        }
    }
}

/// Reads one story.
private struct StoryPage: Sendable {
    let recipient: RecipientKey
    let subject: NotificationStory.Subject
    let person: Recipient

    private var key: NotificationKey {
        switch subject {
        case .notification(let id): NotificationKey(recipient: recipient, notification: id)
        case .event(let event):
            NotificationKey(
                recipient: recipient,
                notification: NotificationID(app: recipient.app, event: event, user: recipient.user)
            )
        }
    }

    func read(_ connection: PostgresConnection) throws(PostgresError) -> NotificationStory {
        let record = try record(connection)
        let event = event(record)
        let lines = try connection.run(StoryStatements.lines, parameters() + [.integer(key.notification.number)])
        let devices = try connection.run(StoryStatements.devices, parameters())
        let times = try connection.run(StoryStatements.times, parameters())
        let grave = try connection.run(
            StoryStatements.erasure,
            [.text(recipient.app.text), .bytes(SubjectHash.recipient(recipient.app, recipient.user).bytes)]
        )
        return NotificationStory(
            key: key,
            event: event,
            record: record,
            lines: try lines.map(LedgerLine.init),
            devices: try devices.map(KnownDevice.init),
            settings: NotificationStory.Settings(
                recipient: person,
                changedAt: try times.timestamp(0, 0),
                preferencesChangedAt: try times.timestamp(0, 1)
            ),
            following: try record.flatMap { (record) throws(PostgresError) in try following(of: record, connection) },
            plan: try event.flatMap { (event) throws(PostgresError) in try plan(of: event, connection) },
            deadLetters: try event.map { (event) throws(PostgresError) in try letters(of: event, connection) } ?? [],
            erasure: try grave.map(NotificationStory.Erasure.init).first
        )
    }

    private func following(
        of record: NotificationStory.Record,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> NotificationStory.Following? {
        guard let topic = record.notification.content.extras.topic else { return nil }
        let rows = try connection.run(StoryStatements.follow, parameters(topic.text))
        let follow = try rows.map { (rows, row) throws(PostgresError) in
            NotificationStory.Following.Follow(
                said: try StoredFollow(rows, row),
                since: try rows.moment(row, 3),
                removedAt: try rows.timestamp(row, 4)
            )
        }
        return NotificationStory.Following(topic: topic, follow: follow.first)
    }

    private func event(_ record: NotificationStory.Record?) -> EventID? {
        guard case .event(let event) = subject else { return record?.notification.content.event }
        return event
    }

    private func parameters(_ more: String...) -> [Parameter] {
        [.text(recipient.app.text), .text(recipient.user.text)] + more.map(Parameter.text)
    }

    private func record(_ connection: PostgresConnection) throws(PostgresError) -> NotificationStory.Record? {
        let rows = try connection.run(InboxStatements.load, NotificationKey.parameters([key]))
        guard !rows.isEmpty, let stored = try StoredNotification(rows, 0) else { return nil }
        let fate = try connection.run(StoryStatements.fate, parameters() + [.integer(key.notification.number)])
        var successor: NotificationStory.Successor?
        if let id = try fate.optionalText(0, 1), let createdAt = try fate.timestamp(0, 2) {
            successor = NotificationStory.Successor(id: id, createdAt: createdAt)
        }
        return NotificationStory.Record(
            notification: stored,
            readAt: try fate.timestamp(0, 0),
            successor: successor
        )
    }

    private func plan(
        of event: EventID,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> NotificationStory.Plan? {
        let rows = try connection.run(StoryStatements.plan, parameters(event.text))
        return try rows.map(NotificationStory.Plan.init).first
    }

    private func letters(
        of event: EventID,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [DeadLetterSummary] {
        try connection.run(StoryStatements.letters, parameters(event.text)).map(DeadLetterSummary.init)
    }
}
