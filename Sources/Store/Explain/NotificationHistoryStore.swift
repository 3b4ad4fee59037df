package import BellhopRules
package import Postgres

/// Reads the stored data of one event for one user.
///
/// It changes nothing.
package struct NotificationHistoryStore: Sendable {
    let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of an admin or a worker.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns the latest notifications of a user, the newest first.
    package func latest(of user: UserKey, atMost limit: Int) async throws(PostgresError) -> [NotificationID] {
        let rows = try await pool.run(
            NotificationHistoryStatements.latest,
            [.text(user.app.text), .text(user.user.text), .integer(Int64(limit))]
        )
        return try rows.map { (rows, row) throws(PostgresError) in
            NotificationID(bits: UInt64(bitPattern: try rows.integer(row, 0)))
        }
    }

    /// Returns the topics that a user follows now, the muted ones first, at most `limit`, with the number of all.
    package func follows(of user: UserKey, atMost limit: Int) async throws(PostgresError) -> UserFollows {
        let most = Int64(UserFollows.mostCounted + 1)
        let rows = try await pool.run(
            NotificationHistoryStatements.follows,
            [.text(user.app.text), .text(user.user.text), .integer(most)]
        )
        let topics = try rows.indices.prefix(limit).map { (row) throws(PostgresError) in
            UserFollows.Topic(
                topic: try rows.text(row, 0),
                follow: try StoredFollow(rows, row, from: 1),
                since: try rows.moment(row, 4)
            )
        }
        return UserFollows(
            topics: topics,
            count: min(rows.count, UserFollows.mostCounted),
            isCapped: rows.count > UserFollows.mostCounted
        )
    }

    /// Returns the apps that have data of a user, in the order of their names.
    ///
    /// A user without settings, devices and notifications is in no app, even if dead letters or events for later name
    /// that user.
    package func apps(of user: UserID, atMost limit: Int) async throws(PostgresError) -> [AppID] {
        let rows = try await pool.run(NotificationHistoryStatements.apps, [.text(user.text), .integer(Int64(limit))])
        return try rows.map { (rows, row) throws(PostgresError) in AppID(validating: try rows.text(row, 0)) }
            .compactMap { $0 }
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

    /// The hash that represents the user in tombstones and dead letters.
    private var userHash: [UInt8] { IdentityHash.recipient(recipient.app, recipient.user).bytes }

    func read(_ connection: PostgresConnection) throws(PostgresError) -> NotificationHistory {
        let record = try record(connection)
        let event = event(record)
        let lines = try connection.run(
            NotificationHistoryStatements.lines,
            parameters() + [.integer(key.notification.number)]
        )
        let devices = try connection.run(NotificationHistoryStatements.devices, parameters())
        let times = try connection.run(NotificationHistoryStatements.times, parameters())
        let kept = try event.flatMap { (event) throws(PostgresError) in try plan(of: event, connection) }
        let topic = record.map(\.notification.content.topic) ?? kept?.topic
        let grave = try connection.run(
            NotificationHistoryStatements.erasure,
            [.text(recipient.app.text), .bytes(userHash)]
        )
        let refused = try event.map { (event) throws(PostgresError) in try letters(of: event, connection) } ?? []
        let isNameless = record == nil && kept == nil && refused.isEmpty
        return NotificationHistory(
            key: key,
            event: event,
            record: record,
            lines: try lines.map(DeliveryHistory.init),
            devices: try devices.map(KnownDevice.init),
            settings: NotificationHistory.Settings(
                recipient: person,
                changedAt: try times.timestamp(0, 0),
                preferencesChangedAt: try times.timestamp(0, 1),
                knownSince: try times.timestamp(0, 2)
            ),
            following: try topic.map { (topic) throws(PostgresError) in try following(topic, connection) },
            plan: kept,
            deadLetters: refused,
            namelessDeadLetters: event != nil && isNameless ? try namelessLetters(connection) : [],
            erasure: try grave.map(NotificationHistory.Erasure.init).first
        )
    }

    private func following(
        _ topic: Topic,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> NotificationHistory.Following {
        let rows = try connection.run(NotificationHistoryStatements.follow, parameters(topic.text))
        let follow = try rows.map { (rows, row) throws(PostgresError) in
            NotificationHistory.Following.Follow(
                said: try StoredFollow(rows, row),
                since: try rows.moment(row, 3),
                storedAt: try rows.moment(row, 5),
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
        try connection.run(NotificationHistoryStatements.letters, parameters(event.text) + [.bytes(userHash)])
            .map(DeadLetterSummary.init)
    }

    private func namelessLetters(_ connection: PostgresConnection) throws(PostgresError) -> [DeadLetterSummary] {
        try connection.run(NotificationHistoryStatements.namelessLetters, parameters()).map(DeadLetterSummary.init)
    }
}

/// The SQL of stories; `$1` is the app, `$2` the user, `$3` the number of a notification.
enum NotificationHistoryStatements {
    /// The key of `people` begins with the user.
    static let apps = Statement("SELECT app FROM people WHERE user_id = $1 ORDER BY app LIMIT $2", effect: .reads)

    /// The number of the user.
    private static let person = "(SELECT number FROM people WHERE app = $1 AND user_id = $2)"

    /// `$3` is the limit.
    static let latest = Statement(
        "SELECT id FROM inbox WHERE person = \(person) ORDER BY created_at DESC, id DESC LIMIT $3",
        effect: .reads
    )

    /// Returns when the notification was read, and its successor.
    static let fate = Statement(
        """
        SELECT n.read_at, notification_name(l.id), l.created_at
        FROM inbox n
        LEFT JOIN LATERAL (
            SELECT s.id, s.created_at FROM inbox s
            WHERE n.collapse_key IS NOT NULL AND s.person = n.person AND s.collapse_key = n.collapse_key
              AND (s.created_at, s.id) > (n.created_at, n.id)
            ORDER BY s.created_at, s.id LIMIT 1
        ) AS l ON true
        WHERE n.person = \(person) AND n.id = $3
        """,
        effect: .reads
    )

    /// Includes deliveries that were never to be sent.
    ///
    /// For each delivery it returns the number of deliveries in its digest, including itself; deliveries that were
    /// removed from the digest are not counted.
    static let lines = Statement(
        """
        SELECT target_channel(d.target), target_name(d.target), delivery_state(d.state), d.reason, d.attempts::bigint,
               d.unknown_sends::bigint, d.provider_message_id, d.due_at, d.decision ->> 'until',
               d.decision ->> '\(slot)',
               (SELECT count(*) FROM ledger o
                WHERE o.person = d.person AND o.target = d.target
                  AND o.decision ->> '\(slot)' = d.decision ->> '\(slot)'
                  AND (o.id = d.id OR o.state NOT IN ('x', 'e'))),
               d.updated_at, d.outlet, d.queued_at
        FROM (
            SELECT person, id, target, state, reason, attempts, unknown_sends, provider_message_id, due_at, decision,
                   updated_at, outlet, queued_at
            FROM ledger WHERE person = \(person) AND id = $3
            UNION ALL
            SELECT person, id, \(TargetNumber.nobody), unsent, unsent_reason, 0, 0, NULL, NULL, NULL, created_at,
                   NULL, NULL
            FROM inbox WHERE person = \(person) AND id = $3 AND unsent IS NOT NULL
        ) AS d
        ORDER BY 1, 2
        """,
        effect: .reads
    )

    /// `$3` is a topic.
    static let follow = Statement(
        """
        SELECT \(StoredFollow.columns()), since, removed_at, followed_at FROM follows
        WHERE app = $1 AND user_id = $2 AND topic = $3
        """,
        effect: .reads
    )

    /// The primary key has the user's topics together.
    static let follows = Statement(
        """
        SELECT topic, \(StoredFollow.columns(of: "w")), since FROM (
            SELECT topic, role, muted, devices, since FROM follows
            WHERE user_id = $2 AND app = $1 AND removed_at IS NULL LIMIT $3
        ) AS w
        ORDER BY muted DESC, topic
        """,
        effect: .reads
    )

    static let devices = Statement(
        """
        SELECT id, platform, provider, permission, registered_at, last_seen_at, revoked_at, revoke_reason
        FROM push_subscriptions WHERE app = $1 AND profile_id = $2
        ORDER BY revoked_at DESC NULLS FIRST, id
        """,
        effect: .reads
    )

    /// Always returns one row.
    static let times = Statement(
        """
        SELECT (SELECT updated_at FROM recipients WHERE app = $1 AND user_id = $2),
               (SELECT updated_at FROM notification_preferences WHERE app = $1 AND profile_id = $2),
               (SELECT recorded_at FROM recipients WHERE app = $1 AND user_id = $2)
        """,
        effect: .reads
    )

    static let plan = Statement(
        """
        SELECT content ->> 'eventType', content ->> 'sentAtIso', content ->> 'deliverAt',
               jsonb_array_length(content -> 'to' -> 'users')::bigint, content -> 'to' -> 'users' ? $2,
               content -> 'to' ->> 'topic', created_at, handed_over_at, expanded_at, cancelled_at, closed_reason,
               f.state, f.started_at, f.finished_at
        FROM events e
        LEFT JOIN LATERAL (
            SELECT state, started_at, finished_at FROM fanouts WHERE app = e.app AND event_id = e.id OFFSET 0
        ) AS f ON true
        WHERE app = $1 AND id = $3
        """,
        effect: .reads
    )

    /// Excludes dead letters for other users of the same event.
    ///
    /// A corrected copy has the first failure of its original and follows it.
    static let letters = Statement(
        """
        SELECT \(DeadLetterSummary.columns)
        FROM dead_letters d WHERE app = $1 AND event_id = $3 AND (user_id = $2 OR user_id IS NULL AND (
            people = '{}' OR people @> ARRAY[encode($4, 'hex') COLLATE "C"]
        ))
        ORDER BY first_failed_at, filed_at, dead_id LIMIT 20
        """,
        effect: .reads
    )

    static let namelessLetters = Statement(
        """
        SELECT \(DeadLetterSummary.columns)
        FROM dead_letters d WHERE user_id = $2 AND app = $1 AND event_id IS NULL
        ORDER BY last_failed_at DESC, dead_id LIMIT 20
        """,
        effect: .reads
    )

    /// `$2` is the hash that represents the user.
    static let erasure = Statement(
        "SELECT deleted_at, returned_at FROM tombstones WHERE app = $1 AND subject_hash = $2",
        effect: .reads
    )

    private static let slot = Wait.slotKey
}
