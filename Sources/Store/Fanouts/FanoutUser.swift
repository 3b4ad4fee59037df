package import BellhopRules
package import Postgres

/// A user whom a fan-out has reached, with the outcomes of the user's deliveries.
package struct FanoutUser: Sendable, Equatable {
    package let user: String
    package let notification: NotificationID
    package let recordedAt: Timestamp
    package let readAt: Timestamp?
    /// The outcomes of the deliveries to the user's devices and mailbox.
    package let deliveries: FanoutDeliveries
    /// The reason of a delivery that was not sent, or that waits; `nil` if there is none.
    package let reason: String?
}

/// Numbers of deliveries by their outcome.
package struct FanoutDeliveries: Sendable, Equatable {
    /// Accepted by a provider.
    package var sent = 0
    /// Still to be sent: deferred, held, in a backlog, being sent, or waiting for a retry.
    package var waiting = 0
    /// The waiting ones whose request a worker may have written already.
    package var beingSent = 0
    /// Discarded by an operator behind a hold.
    package var discarded = 0
    /// Suppressed, expired or given up, and notifications without an eligible device.
    package var notSent = 0
    /// Those of the unsent ones that were given up: a provider rejected them, or the attempts are exhausted.
    package var failed = 0
    /// Not counted as sent, although a device may have them: the outcome of an earlier send is unknown.
    package var mayHaveArrived = 0
    /// The waiting and the unsent deliveries by their reasons, in the ledger's words; empty for one without a reason.
    package var waitingReasons: [String: Int] = [:]
    package var notSentReasons: [String: Int] = [:]

    package init() {}

    package static func += (left: inout FanoutDeliveries, right: FanoutDeliveries) {
        left.sent += right.sent
        left.waiting += right.waiting
        left.beingSent += right.beingSent
        left.discarded += right.discarded
        left.notSent += right.notSent
        left.failed += right.failed
        left.mayHaveArrived += right.mayHaveArrived
        left.waitingReasons.merge(right.waitingReasons, uniquingKeysWith: +)
        left.notSentReasons.merge(right.notSentReasons, uniquingKeysWith: +)
    }
}

/// A page of the app's users, in the order of their ids.
package struct FanoutUserPage: Sendable {
    /// The users with a notification of the fan-out.
    package let users: [FanoutUser]
    /// The id of the last user that was looked at, or `nil` if there are no more.
    package let last: String?
}

extension FanoutAdmin {
    /// The number of the app's users that one statement looks at.
    package static let usersPerPage = 5_000

    /// Returns the users after an id who have a notification of an event.
    ///
    /// Every user of the app is looked up by the id that the notification would have: no index names the events of
    /// notifications, and the present followers of a topic are not those of the past.
    package func users(
        of event: String,
        in app: String,
        after user: String
    ) async throws(PostgresError) -> FanoutUserPage {
        let limit = Int64(Self.usersPerPage)
        let rows = try await pool.run(Self.users, [.text(app), .text(event), .text(user), .integer(limit)])
        var users: [FanoutUser] = []
        for row in rows.indices {
            guard let recordedAt = try rows.timestamp(row, "created_at") else { continue }
            var deliveries = FanoutDeliveries()
            deliveries.sent = try rows.number(row, "sent")
            deliveries.waiting = try rows.number(row, "waiting")
            deliveries.beingSent = try rows.number(row, "being_sent")
            deliveries.discarded = try rows.number(row, "discarded")
            deliveries.notSent = try rows.number(row, "not_sent")
            deliveries.failed = try rows.number(row, "failed")
            deliveries.mayHaveArrived = try rows.number(row, "may_have_arrived")
            deliveries.waitingReasons = Self.counts(try rows.text(row, "waiting_reasons"), deliveries.waiting)
            deliveries.notSentReasons = Self.counts(try rows.text(row, "not_sent_reasons"), deliveries.notSent)
            users.append(
                FanoutUser(
                    user: try rows.text(row, "user_id"),
                    notification: NotificationID(bits: UInt64(bitPattern: try rows.integer(row, "id"))),
                    recordedAt: recordedAt,
                    readAt: try rows.timestamp(row, "read_at"),
                    deliveries: deliveries,
                    reason: try rows.optionalText(row, .name("reason"))
                )
            )
        }
        let isWhole = rows.count < Self.usersPerPage
        return FanoutUserPage(users: users, last: isWhole ? nil : try rows.text(rows.count - 1, "user_id"))
    }

    /// Counts the lines of a text, one for each delivery.
    private static func counts(_ lines: String, _ deliveries: Int) -> [String: Int] {
        guard deliveries > 0 else { return [:] }
        return Dictionary(
            lines.split(separator: "\n", omittingEmptySubsequences: false).map { (String($0), 1) },
            uniquingKeysWith: +
        )
    }

    private static let users: Statement = {
        let accepted = DeliveryState.list { [.accepted, .delivered, .unknown].contains($0) }
        return Statement(
            """
            WITH page AS MATERIALIZED (
                SELECT p.number, p.user_id, ('x' || encode(substr(sha256(
                           convert_to(p.app, 'UTF8') || '\\x00'::bytea || convert_to($2::text, 'UTF8') || '\\x00'::bytea
                           || convert_to(p.user_id, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint AS id
                FROM people p WHERE p.user_id > $3 AND p.app = $1 ORDER BY p.user_id LIMIT $4
            )
            SELECT n.user_id, n.id, i.created_at, i.read_at, l.sent, l.waiting, l.being_sent, l.discarded,
                   l.may_have_arrived, l.failed,
                   l.not_sent + (i.unsent IS NOT NULL)::integer AS not_sent, coalesce(l.reason, i.unsent_reason) AS reason,
                   coalesce(l.waiting_reasons, '') AS waiting_reasons,
                   concat_ws(E'\\n', l.not_sent_reasons, CASE WHEN i.unsent IS NOT NULL THEN coalesce(i.unsent_reason, '') END)
                       AS not_sent_reasons
            FROM page n
            LEFT JOIN LATERAL (
                SELECT created_at, read_at, unsent, unsent_reason FROM inbox
                WHERE person = ANY (ARRAY[n.number]) AND id = n.id OFFSET 0
            ) AS i ON true
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE state IN (\(accepted))) AS sent,
                       count(*) FILTER (WHERE state IN (\(DeliveryState.owed))) AS waiting,
                       count(*) FILTER (WHERE state = \(DeliveryState.sending.sql)) AS being_sent,
                       count(*) FILTER (WHERE state = 'x' AND reason = '\(HoldAdmin.discarded)') AS discarded,
                       count(*) FILTER (WHERE state IN ('e', 'f') OR state = 'x'
                                              AND reason IS DISTINCT FROM '\(HoldAdmin.discarded)') AS not_sent,
                       count(*) FILTER (WHERE state = 'f') AS failed,
                       count(*) FILTER (WHERE state NOT IN (\(accepted)) AND unknown_sends > 0) AS may_have_arrived,
                       string_agg(CASE state WHEN \(DeliveryState.sending.sql) THEN '' ELSE coalesce(reason, '') END,
                                  E'\\n')
                           FILTER (WHERE state IN (\(DeliveryState.owed))) AS waiting_reasons,
                       string_agg(coalesce(reason, ''), E'\\n')
                           FILTER (WHERE state IN ('e', 'f') OR state = 'x'
                                         AND reason IS DISTINCT FROM '\(HoldAdmin.discarded)') AS not_sent_reasons,
                       min(reason) AS reason
                FROM ledger WHERE person = ANY (ARRAY[n.number]) AND id = n.id
            ) AS l
            ORDER BY n.user_id
            """,
            effect: .reads
        )
    }()
}
