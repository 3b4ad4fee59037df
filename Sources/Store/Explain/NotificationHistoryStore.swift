import BellhopRules
package import Postgres

/// Reads the stored data of one event for one user.
///
/// It changes nothing.
package struct NotificationHistoryStore: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of an admin or a worker.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns the data from one snapshot, except the user's settings, which are read as the worker reads them.
    package func story(
        of subject: NotificationHistory.Subject,
        for recipient: UserKey
    ) async throws(PostgresError) -> NotificationHistory {
        let known = try await WorkerStore(pool: pool).recipients(of: [recipient])
        let page = NotificationHistoryReader(
            recipient: recipient,
            subject: subject,
            person: known[recipient] ?? Recipient()
        )
        return try await pool.transaction { (connection) throws(PostgresError) in
            try connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return try page.read(connection)
        }
    }
}

/// Reads one story.
private struct NotificationHistoryReader: Sendable {
    let recipient: UserKey
    let subject: NotificationHistory.Subject
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

    func read(_ connection: PostgresConnection) throws(PostgresError) -> NotificationHistory {
        let record = try record(connection)
        let event = event(record)
        let lines = try connection.run(
            NotificationHistoryStatements.lines,
            parameters() + [.integer(key.notification.number)]
        )
        let devices = try connection.run(NotificationHistoryStatements.devices, parameters())
        let times = try connection.run(NotificationHistoryStatements.times, parameters())
        let grave = try connection.run(
            NotificationHistoryStatements.erasure,
            [.text(recipient.app.text), .bytes(IdentityHash.recipient(recipient.app, recipient.user).bytes)]
        )
        return NotificationHistory(
            key: key,
            event: event,
            record: record,
            lines: try lines.map(DeliveryHistory.init),
            devices: try devices.map(KnownDevice.init),
            settings: NotificationHistory.Settings(
                recipient: person,
                changedAt: try times.timestamp(0, 0),
                preferencesChangedAt: try times.timestamp(0, 1)
            ),
            following: try record.flatMap { (record) throws(PostgresError) in try following(of: record, connection) },
            plan: try event.flatMap { (event) throws(PostgresError) in try plan(of: event, connection) },
            deadLetters: try event.map { (event) throws(PostgresError) in try letters(of: event, connection) } ?? [],
            erasure: try grave.map(NotificationHistory.Erasure.init).first
        )
    }

    private func following(
        of record: NotificationHistory.Record,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> NotificationHistory.Following? {
        guard let topic = record.notification.content.extras.topic else { return nil }
        let rows = try connection.run(NotificationHistoryStatements.follow, parameters(topic.text))
        let follow = try rows.map { (rows, row) throws(PostgresError) in
            NotificationHistory.Following.Follow(
                said: try StoredFollow(rows, row),
                since: try rows.moment(row, 3),
                removedAt: try rows.timestamp(row, 4)
            )
        }
        return NotificationHistory.Following(topic: topic, follow: follow.first)
    }

    private func event(_ record: NotificationHistory.Record?) -> EventID? {
        guard case .event(let event) = subject else { return record?.notification.content.event }
        return event
    }

    private func parameters(_ more: String...) -> [Parameter] {
        [.text(recipient.app.text), .text(recipient.user.text)] + more.map(Parameter.text)
    }

    private func record(_ connection: PostgresConnection) throws(PostgresError) -> NotificationHistory.Record? {
        let rows = try connection.run(StoredNotification.load, NotificationKey.parameters([key]))
        guard !rows.isEmpty, let stored = try StoredNotification(rows, 0) else { return nil }
        let fate = try connection.run(
            NotificationHistoryStatements.fate,
            parameters() + [.integer(key.notification.number)]
        )
        var successor: NotificationHistory.Successor?
        if let id = try fate.optionalText(0, 1), let createdAt = try fate.timestamp(0, 2) {
            successor = NotificationHistory.Successor(id: id, createdAt: createdAt)
        }
        return NotificationHistory.Record(
            notification: stored,
            readAt: try fate.timestamp(0, 0),
            successor: successor
        )
    }

    private func plan(
        of event: EventID,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> NotificationHistory.Plan? {
        let rows = try connection.run(NotificationHistoryStatements.plan, parameters(event.text))
        return try rows.map(NotificationHistory.Plan.init).first
    }

    private func letters(
        of event: EventID,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [DeadLetterSummary] {
        try connection.run(NotificationHistoryStatements.letters, parameters(event.text)).map(DeadLetterSummary.init)
    }
}
