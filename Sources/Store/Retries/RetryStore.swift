package import BellhopRules
package import Postgres

/// The deliveries of one app and provider that wait for another attempt after an outage of the provider.
package struct WaitingRetries: Sendable, Equatable {
    package let app: String
    /// A push provider or `email`.
    package let provider: String
    package let count: Int
    /// When the last one is due.
    package let lastDue: Timestamp
    /// Whether there may be more deliveries than were counted.
    package let isCapped: Bool

    package init(app: String, provider: String, count: Int, lastDue: Timestamp, isCapped: Bool = false) {
        self.app = app
        self.provider = provider
        self.count = count
        self.lastDue = lastDue
        self.isCapped = isCapped
    }
}

/// The reasons of failed attempts, as the ledger stores them.
package enum RetryReason {
    /// The provider did not work: its recovery ends the wait, whatever it requested before.
    package static let ofOutage = [
        "UNAVAILABLE", "INTERNAL", "UNSPECIFIED_ERROR", "IdleTimeout", "Shutdown", "ProviderError", "ExpoError",
        "unexpected-status", "unexpected-answer", "server-closing", "temporarily-refused", "token-unavailable",
        "timeout", "connect", "name-lookup", "tls", "connection-lost", "incomplete-answer", "protocol-violation",
        "library", "cancelled", "closed",
    ]

    /// The provider limits the rate, or the mailbox is full: the requested wait is respected.
    package static let ofLimit = [
        "QUOTA_EXCEEDED", "TOO_MANY_REQUESTS", "MessageRateExceeded", "device-rate", "too-many-requests",
        "mailbox-full",
    ]

    fileprivate static func list(_ reasons: [String]) -> String {
        reasons.map { "'\($0)'" }.joined(separator: ", ")
    }
}

/// Deliveries that wait for another attempt: counts them by outlet, and brings them forward if their provider works
/// again.
///
/// They are in a retry tier or, if no tier fits the wait, deferred until their time. Deliveries that wait because of a
/// rate limit are never brought forward, since the provider would reject them again.
package struct RetryStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The maximum of deliveries that are counted for each priority.
    ///
    /// A count reads ten times as many open deliveries, among which others may be.
    package static let most = 10_000

    /// The maximum for an overview, which is read every few seconds as long as an operator has it open.
    package static let mostInOverview = 1_000

    /// Returns the waiting retries by app and provider.
    ///
    /// Deliveries that are due within two seconds are left out, because their messages are about to return.
    package func waiting(atMost limit: Int = most) async throws(PostgresError) -> [WaitingRetries] {
        try await waiting(Self.count, limit)
    }

    /// Returns the deliveries that wait as long as their provider has requested, by app and provider.
    package func limited(atMost limit: Int = most) async throws(PostgresError) -> [WaitingRetries] {
        try await waiting(Self.countLimited, limit)
    }

    /// Returns the deliveries that wait because of any other response, such as one that concerns their device alone.
    package func others(atMost limit: Int = most) async throws(PostgresError) -> [WaitingRetries] {
        try await waiting(Self.countOthers, limit)
    }

    /// Returns the deliveries whose next attempt is due or was brought forward, by app and provider.
    ///
    /// They stay only if something keeps them, such as an unavailable broker: the others leave within a minute.
    package func due(atMost limit: Int = most) async throws(PostgresError) -> [WaitingRetries] {
        try await waiting(Self.countDue, limit)
    }

    private func waiting(_ count: Statement, _ limit: Int) async throws(PostgresError) -> [WaitingRetries] {
        try await pool.run(count, [.integer(Int64(limit))]).map { (rows, row) throws(PostgresError) in
            WaitingRetries(
                app: try rows.text(row, 0),
                provider: try rows.text(row, 1),
                count: try rows.number(row, 2),
                lastDue: try rows.moment(row, 3),
                isCapped: try rows.boolean(row, 4)
            )
        }
    }

    /// The result of one step.
    package struct Step: Sendable, Equatable {
        /// The deliveries that were brought forward.
        package let moved: Int
        /// The beginning of the next step; `nil` if no later delivery is left.
        package let next: Timestamp?
    }

    /// Brings the retries of an outlet forward, in one step that reads at most `limit` open deliveries.
    ///
    /// Only deliveries that wait because of an outage are moved. Such a delivery becomes `deferred` and is due soon, so
    /// that the sweeper releases it. Its resume message stays in its retry queue; when it returns, it finds the delivery
    /// settled or not yet due and has no effect. No attempt is counted. A user's deliveries stay together, so that no
    /// digest is split; each user is due `pause` after the one before.
    package func bringForward(
        _ app: AppID,
        _ provider: String,
        _ priority: Priority,
        from begin: Timestamp?,
        atMost limit: Int,
        after offset: Duration,
        pausing pause: Duration
    ) async throws(PostgresError) -> Step {
        let rows = try await pool.run(
            Self.bringForward,
            [
                .integer(priority.urgency), begin.map { .instant($0.microseconds) } ?? .null, .integer(Int64(limit)),
                .text(app.text), .text(provider), .integer(offset.milliseconds), .integer(pause.milliseconds),
            ]
        )
        let (moved, read, last) = (try rows.number(0, 0), try rows.number(0, 1), try rows.timestamp(0, 2))
        guard read >= limit, let last else { return Step(moved: moved, next: nil) }
        // Deliveries with the same due time are read again, unless the step read no other deliveries.
        let isStuck = last == begin && moved == 0
        return Step(moved: moved, next: isStuck ? Timestamp(clamping: last.microseconds + 1) : last)
    }

    /// Retries that are due in this time return without help.
    private static let soon = "interval '2 s'"

    /// A retry that is deferred and was brought forward is due within this time, and does not wait any longer.
    private static let later = "interval '60 s'"

    /// The condition that a row of the ledger waits for another attempt after an outage.
    private static func waits(_ row: String) -> String {
        """
        (\(row).state = 'r' OR \(row).state = 'w' AND \(row).due_at > now() + \(later))
              AND \(row).reason IN (\(RetryReason.list(RetryReason.ofOutage)))
        """
    }

    /// The condition that a row of the ledger waits as long as its provider has requested.
    ///
    /// Nothing brings it forward, so that it counts until it is due.
    private static let waitsForLimit = """
        w.state IN ('r', 'w') AND w.reason IN (\(RetryReason.list(RetryReason.ofLimit)))
        """

    /// The condition that a row of the ledger is in a retry tier for another reason than those two kinds.
    private static let waitsForOther = """
        w.state = 'r' AND w.reason NOT IN (\(RetryReason.list(RetryReason.ofOutage + RetryReason.ofLimit)))
        """

    /// The condition that a row of the ledger waits for another attempt, and is due or was brought forward.
    private static let isDue = """
        (w.state = 'r' OR w.state = 'w' AND w.reason IN (\(RetryReason.list(RetryReason.ofOutage + RetryReason.ofLimit))))
              AND (w.due_at <= now() + \(soon)
                   OR w.state = 'w' AND w.reason IN (\(RetryReason.list(RetryReason.ofOutage))))
        """

    /// The user (`p`) and the provider (`s`) of a delivery `w` that waits for another attempt.
    private static func outlet(of app: String, where condition: String) -> String {
        """
        CROSS JOIN LATERAL (SELECT app, user_id FROM people WHERE number = w.person \(app) OFFSET 0) AS p
        LEFT JOIN LATERAL (
            SELECT provider FROM push_subscriptions
            WHERE profile_id = p.user_id AND app || '' = p.app AND id = target_name(w.target) COLLATE "C" OFFSET 0
        ) AS s ON true
        WHERE \(condition)
        """
    }

    private static let provider = "CASE w.target WHEN \(TargetNumber.mailbox) THEN 'email' ELSE s.provider END"

    private static let count = counting(waits("w"))
    private static let countLimited = counting(waitsForLimit)
    private static let countOthers = counting(waitsForOther)
    private static let countDue = counting(isDue, during: "due_at <= now() + \(later)")

    private static func counting(_ condition: String, during time: String = "due_at > now() + \(soon)") -> Statement {
        Statement(
            """
            WITH matching AS MATERIALIZED (
                SELECT d.* FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
                CROSS JOIN LATERAL (
                    SELECT w.*, row_number() OVER () AS place FROM (
                        SELECT ahead.*, count(*) OVER () AS read FROM (
                            SELECT person, target, due_at, state, reason FROM ledger
                            WHERE urgency = u.urgency AND due_at IS NOT NULL AND sent_at IS NULL AND \(time)
                            ORDER BY due_at LIMIT 10 * $1
                        ) AS ahead
                    ) AS w
                    WHERE \(condition) LIMIT $1
                ) AS d
            )
            SELECT p.app, \(provider), count(*), max(w.due_at),
                   (SELECT max(place) >= $1 OR max(read) >= 10 * $1 FROM matching)
            FROM matching w
            \(outlet(of: "", where: "\(provider) IS NOT NULL"))
            GROUP BY 1, 2 ORDER BY 1, 2
            """,
            effect: .reads
        )
    }

    private static let bringForward = Statement(
        """
        WITH walked AS MATERIALIZED (
            SELECT person, id, target, due_at, state, reason FROM ledger
            WHERE urgency = $1::bigint AND due_at IS NOT NULL AND sent_at IS NULL
              AND due_at >= greatest($2::timestamptz, now() + \(soon))
            ORDER BY due_at LIMIT $3
        ), chosen AS MATERIALIZED (
            SELECT w.person, w.id, w.target, dense_rank() OVER (ORDER BY w.person) AS place
            FROM walked w
            \(outlet(of: "AND app || '' = $4", where: waits("w")))
              AND \(provider) = $5
        ), locked AS MATERIALIZED (
            SELECT l.person, l.id, l.target, c.place FROM chosen c
            CROSS JOIN LATERAL (
                SELECT person, id, target FROM ledger t
                WHERE t.person = ANY (ARRAY[c.person]) AND t.id = c.id AND t.target = c.target
                  AND \(waits("t"))
                FOR UPDATE SKIP LOCKED
            ) AS l
        ), moved AS (
            UPDATE ledger d
            SET state = 'w', due_at = least(d.due_at, now() + ($6::bigint + l.place * $7::bigint) * interval '1 ms')
            FROM locked l
            WHERE d.person = ANY (ARRAY[l.person]) AND d.id = l.id AND d.target = l.target
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM moved), count(*), max(due_at) FROM walked
        """
    )
}
