package import BellhopRules
package import Postgres

/// A delivery that its provider accepted, with the data to request its receipt and to act on the answer.
package struct OpenReceipt: Sendable {
    package let key: DeliveryKey
    /// The provider's id with which the receipt is requested.
    package let ticket: String
    /// The number of attempts, including the accepted one.
    package let attempts: Int
    package let sentAt: Timestamp
    /// The time since the send, by the database clock.
    package let age: Duration
    package let priority: Priority
    /// The notification's origin; `nil` if the notification is deleted.
    package let origin: Origin?
    /// The device's current token; `nil` if the subscription is deleted.
    package let token: DeviceToken?

    /// The event from which the notification was made.
    package struct Origin: Sendable {
        package let event: EventID
        package let type: EventType
    }
}

/// The deliveries in the ledger that wait for a receipt.
extension WorkerStore {
    /// Takes at most `limit` deliveries whose receipt has been due for at most `span`, the oldest first.
    ///
    /// Each becomes due again in ten minutes. Meanwhile no other scheduler takes it, and a lost release is repeated
    /// after that time. Rows that another statement has locked are skipped.
    package func takeReceipts(
        atMost limit: Int,
        within span: Duration = DuePoll.whole,
        of users: UserFilter = .everyone
    ) async throws(PostgresError) -> DuePollResult<DeliveryKey> {
        let parameters: [Parameter] = [.integer(Int64(limit)), .integer(span.milliseconds)]
        let rows = try await pool.run(Self.take, parameters + users.parameters)
        let keys = try rows.compactMap { (rows, row) throws(PostgresError) in try rows.deliveryKey(row) }
        return try DuePollResult(keys, from: rows, age: 5, limit: limit)
    }

    /// Returns the users whose deliveries `takeReceipts` would take, without taking them.
    package func receiptHead(
        atMost limit: Int,
        within span: Duration,
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead {
        let parameters: [Parameter] = [.integer(Int64(limit)), .integer(span.milliseconds)]
        return try QueueHead(try await pool.run(Self.oldestFirst, parameters + users.parameters))
    }

    /// Makes taken deliveries due again in a second, because the broker has not confirmed their messages.
    package func giveBackReceipts(_ keys: [DeliveryKey]) async throws(PostgresError) {
        guard !keys.isEmpty else { return }
        _ = try await pool.run(Self.giveBack, DeliveryKey.parameters(keys))
    }

    /// Claims the deliveries that still wait, in one statement.
    ///
    /// The last claim has the right to settle: two requests for a receipt are harmless, two settlements are not.
    package func claimReceipts(_ keys: [DeliveryKey], as claim: Claim) async throws(PostgresError) -> [OpenReceipt] {
        guard !keys.isEmpty else { return [] }
        let rows = try await pool.run(Self.claim, DeliveryKey.parameters(keys) + [.integer(claim.number)])
        return try rows.compactMap { (rows, row) throws(PostgresError) in try OpenReceipt(of: keys, rows, row) }
    }

    private static func oldest(_ columns: String) -> String {
        """
        SELECT \(columns) FROM ledger
        WHERE sent_at IS NOT NULL AND due_at <= now() AND \(DuePoll.reaches("due_at", "$2")) AND state = 'a'
          AND \(UserFilter.admits("person", at: "due_at", 3))
        ORDER BY due_at LIMIT $1
        """
    }

    private static let oldestFirst = Statement(oldest("person, due_at"), effect: .reads)

    private static let take = Statement(
        """
        WITH due AS (
            \(oldest("person, id, target, due_at"))
            FOR UPDATE SKIP LOCKED
        ), moved AS (
            UPDATE ledger d SET due_at = now() + interval '10 min'
            FROM due
            WHERE d.person = ANY (ARRAY[due.person]) AND d.id = due.id AND d.target = due.target
            RETURNING d.person, d.id, d.target, \(DuePoll.age(of: "due.due_at")) AS age
        )
        SELECT p.app, p.user_id, m.id, m.target, m.person, m.age
        FROM moved m CROSS JOIN LATERAL (SELECT app, user_id FROM people WHERE number = m.person OFFSET 0) AS p
        """
    )

    /// Leaves a delivery alone whose due time is no longer that of the take, because its receipt was answered
    /// meanwhile.
    private static let giveBack = Statement(
        """
        UPDATE ledger d SET due_at = now() + interval '1 s'
        FROM (
            SELECT p.number AS person, w.id, w.target
            FROM (
                SELECT unnest($1::text[]) AS app, unnest($2::text[]) AS user_id, unnest($3::bigint[]) AS id,
                       unnest($4::bigint[]) AS target
            ) AS w
            CROSS JOIN LATERAL \(UserKey.number(of: "w")) AS p
            OFFSET 0
        ) AS k
        WHERE d.person = ANY (ARRAY[k.person]) AND d.id = k.id AND d.target = k.target AND d.state = 'a'
          AND d.due_at > now() + interval '8 min' AND d.due_at <= now() + interval '10 min' AND coalesce(d.sent_at, 'infinity') < 'infinity'
        """
    )

    /// The state already implies a send.
    ///
    /// The expression on `sent_at` prevents the planner from using the index of all accepted deliveries.
    private static let claim = Statement(
        """
        WITH waiting AS (
            SELECT k.position, d.person, d.id, d.target
            FROM (
                SELECT w.position, p.number AS person, w.id, w.target
                FROM (
                    SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                           unnest($2::text[]) AS user_id, unnest($3::bigint[]) AS id, unnest($4::bigint[]) AS target
                ) AS w
                CROSS JOIN LATERAL \(UserKey.number(of: "w")) AS p
                OFFSET 0
            ) AS k
            JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id AND d.target = k.target
            WHERE d.state = 'a' AND coalesce(d.sent_at, 'infinity') < 'infinity'
            ORDER BY k.person, k.id, d.target + 0
            FOR UPDATE OF d
        ), taken AS (
            UPDATE ledger d SET claim = $5
            FROM waiting w
            WHERE d.person = ANY (ARRAY[w.person]) AND d.id = w.id AND d.target = w.target
            RETURNING w.position, d.person, d.id, d.target, d.provider_message_id, d.attempts, d.sent_at, d.urgency
        )
        SELECT t.position, t.person, t.provider_message_id, t.attempts::bigint, t.sent_at,
               floor(extract(epoch FROM now() - t.sent_at) * 1000)::bigint, t.urgency::bigint,
               n.event_id, n.type, s.device_token
        FROM taken t
        CROSS JOIN LATERAL (SELECT app, user_id FROM people WHERE number = t.person OFFSET 0) AS p
        LEFT JOIN LATERAL \(NotificationKey.row("id, event_id, type", of: "t")) AS n ON n.id = t.id
        LEFT JOIN push_subscriptions s
            ON s.app || '' = p.app AND s.profile_id = ANY (ARRAY[p.user_id]) AND s.id = target_name(t.target)
        """
    )
}

extension OpenReceipt {
    /// Creates a receipt from a row; `nil` if no Bellhop process can have written the row.
    fileprivate init?(of keys: [DeliveryKey], _ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let place = try rows.place(row, 0, in: keys.indices), let ticket = try rows.optionalText(row, 2) else {
            return nil
        }
        var key = keys[place]
        key.notification.recipient.number = try rows.personNumber(row, 1)
        var origin: Origin?
        if let event = try rows.optionalText(row, 7).flatMap(EventID.init(validating:)),
            let type = try rows.optionalText(row, 8).flatMap(EventType.init(validating:))
        {
            origin = Origin(event: event, type: type)
        }
        self.init(
            key: key,
            ticket: ticket,
            attempts: try rows.number(row, 3),
            sentAt: try rows.moment(row, 4),
            age: .milliseconds(max(0, try rows.integer(row, 5))),
            priority: Priority(urgency: try rows.integer(row, 6)),
            origin: origin,
            token: try rows.optionalText(row, 9).flatMap(DeviceToken.init(validating:))
        )
    }
}
