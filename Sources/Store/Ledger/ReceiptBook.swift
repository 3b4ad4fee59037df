package import BellhopRules
package import Postgres

/// A delivery that its provider took, with what is needed to ask what became of it and to act on the answer.
package struct OpenReceipt: Sendable {
    package let key: DeliveryKey
    /// What to ask with.
    package let ticket: String
    /// Attempts, the one that was accepted among them.
    package let attempts: Int
    package let sentAt: Timestamp
    /// How long ago that is, by the database's clock.
    package let age: Duration
    package let priority: Priority
    /// Nil where the notification is gone.
    package let origin: Origin?
    /// The device's token as it is now; nil where its subscription is gone.
    package let token: DeviceToken?

    /// What the notification came of.
    package struct Origin: Sendable {
        package let event: EventID
        package let type: EventType
    }
}

/// The deliveries in the ledger whose provider answers later.
package struct ReceiptBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Takes those whose time to ask has come no longer ago than `span`, the oldest first.
    ///
    /// Each becomes due again in ten minutes, so that no other scheduler takes it meanwhile and a hand-over that is lost is
    /// repeated. What another statement holds is left to it.
    package func take(
        atMost limit: Int,
        within span: Duration = DueLook.whole
    ) async throws(PostgresError) -> DueItems<DeliveryKey> {
        let rows = try await pool.run(Self.take, [.integer(Int64(limit)), .integer(span.milliseconds)])
        let keys = try rows.compactMap { (rows, row) throws(PostgresError) in try rows.deliveryKey(row) }
        return try DueItems(keys, from: rows, age: 5, limit: limit)
    }

    /// Gets the right to settle those that still wait, in one statement.
    ///
    /// Whoever claims last settles: asking twice is harmless, settling twice is not.
    package func claim(_ keys: [DeliveryKey], as claim: Claim) async throws(PostgresError) -> [OpenReceipt] {
        guard !keys.isEmpty else { return [] }
        let rows = try await pool.run(Self.claim, DeliveryKey.parameters(keys) + [.integer(claim.number)])
        return try rows.compactMap(OpenReceipt.init)
    }

    private static let take = Statement(
        """
        WITH due AS (
            SELECT app, user_id, notification_id, channel, target, due_at FROM deliveries
            WHERE sent_at IS NOT NULL AND due_at <= now() AND \(DueLook.reaches("due_at", "$2")) AND state = 'accepted'
            ORDER BY due_at LIMIT $1
            FOR UPDATE SKIP LOCKED
        )
        UPDATE deliveries d SET due_at = now() + interval '10 min'
        FROM due
        WHERE d.app = due.app AND d.user_id = ANY (ARRAY[due.user_id])
          AND d.notification_id = due.notification_id AND d.channel = due.channel AND d.target = due.target
        RETURNING d.app, d.user_id, d.notification_id, d.channel, d.target, \(DueLook.age(of: "due.due_at"))
        """
    )

    /// That it has been sent says its state already; that `sent_at` says so too must not lead to the index of all those that
    /// were.
    private static let claim = Statement(
        """
        WITH waiting AS (
            SELECT d.app, d.user_id, d.notification_id, d.channel, d.target
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                 AS k (app, user_id, id, channel, target)
            JOIN deliveries d ON d.app = k.app AND d.user_id = ANY (ARRAY[k.user_id]) AND d.notification_id = k.id
                AND d.channel = k.channel AND d.target = k.target
            WHERE d.state = 'accepted' AND coalesce(d.sent_at, 'infinity') < 'infinity'
            ORDER BY d.app, d.user_id, d.notification_id, d.channel, d.target
            FOR UPDATE OF d
        ), taken AS (
            UPDATE deliveries d SET claim = $6
            FROM waiting w
            WHERE d.app = w.app AND d.user_id = ANY (ARRAY[w.user_id])
              AND d.notification_id = w.notification_id AND d.channel = w.channel AND d.target = w.target
            RETURNING d.app, d.user_id, d.notification_id, d.channel, d.target, d.provider_message_id, d.attempts,
                      d.sent_at, d.urgency
        )
        SELECT t.app, t.user_id, t.notification_id, t.channel, t.target, t.provider_message_id, t.attempts::bigint,
               t.sent_at, floor(extract(epoch FROM now() - t.sent_at) * 1000)::bigint, t.urgency::bigint,
               n.event_id, n.type, s.device_token
        FROM taken t
        LEFT JOIN LATERAL \(InboxStatements.one("id, event_id, type", of: "t", id: "notification_id")) AS n
            ON n.id = t.notification_id
        LEFT JOIN push_subscriptions s
            ON s.app || '' = t.app AND s.profile_id = ANY (ARRAY[t.user_id]) AND s.id = t.target
        """
    )
}

extension OpenReceipt {
    /// Nil for a row that no program of ours wrote.
    fileprivate init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let key = try rows.deliveryKey(row), let ticket = try rows.optionalText(row, 5) else { return nil }
        var origin: Origin?
        if let event = try rows.optionalText(row, 10).flatMap(EventID.init(validating:)),
            let type = try rows.optionalText(row, 11).flatMap(EventType.init(validating:))
        {
            origin = Origin(event: event, type: type)
        }
        self.init(
            key: key,
            ticket: ticket,
            attempts: try rows.number(row, 6),
            sentAt: try rows.moment(row, 7),
            age: .milliseconds(max(0, try rows.integer(row, 8))),
            priority: Priority(urgency: try rows.integer(row, 9)),
            origin: origin,
            token: try rows.optionalText(row, 12).flatMap(DeviceToken.init(validating:))
        )
    }
}
