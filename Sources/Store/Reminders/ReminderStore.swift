package import BellhopRules
package import Postgres
package import ServiceRuntime

/// A reminder as stored.
package struct Reminder: Sendable {
    package let key: UserKey
    package let id: ReminderID
    package let localTime: LocalTime
    package let days: ScheduleDays
    /// The reminder's own time zone, or else the user's; `nil` if neither is set.
    package let timezone: TimeZoneName?
    package let title: String
    package let body: String
    /// The type of its notifications; `nil` for the app's default type.
    package let type: EventType?
    /// When it was set or changed.
    package let plannedFrom: Timestamp
    package let lastFiredOn: LocalDate?
    /// The end of the caller's lock on the reminder.
    ///
    /// A changed reminder loses the lock, and the next caller's lock has a different time.
    let heldUntil: Int64
}

/// When a reminder is checked again.
package struct ReminderPlan: Sendable {
    let reminder: Reminder
    /// The time of the next check; `nil` for never.
    let next: Timestamp?
    let firedOn: LocalDate?

    /// Whether the reminder was for one date, and the date is over.
    var isOver: Bool {
        if case .once = reminder.days { next == nil } else { false }
    }

    package init(_ reminder: Reminder, next: Timestamp?, firedOn: LocalDate? = nil) {
        self.reminder = reminder
        self.next = next
        self.firedOn = firedOn
    }
}

/// The table `reminders`, as used by the scheduler.
package struct ReminderStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Locks reminders that must be checked: reminders that became due within `span`, the longest overdue first, and
    /// new or changed ones.
    ///
    /// No other caller gets them for half a minute. After that, reminders that were neither kept nor released are
    /// available again.
    ///
    /// A reminder after `latest` is not due, whatever the database clock shows.
    package func open(
        atMost limit: Int,
        within span: Duration = DuePoll.whole,
        notBeyond latest: Instant = SystemTime().now() + .seconds(60)
    ) async throws(PostgresError) -> DuePollResult<Reminder> {
        let (rows, left) = try await pool.withConnection { (connection) throws(PostgresError) in
            let taken = try connection.run(
                Self.take,
                [.integer(Int64(limit)), .integer(span.milliseconds), .instant(latest.microseconds)]
            )
            let left = try DuePollResult<Reminder>([], from: taken, age: 4, limit: limit).left
            guard !taken.isEmpty else { return (taken, left) }
            var keys: [[String]] = [[], [], []]
            var holds: [Int64?] = []
            for row in taken.indices {
                for place in keys.indices { keys[place].append(try taken.text(row, .index(place))) }
                holds.append(try taken.instant(row, 3))
            }
            // Read by a separate statement: a statement that did not wait for a lock may still see an outdated time
            // zone.
            return (try connection.run(Self.look, keys.map { .textArray($0) } + [.instantArray(holds)]), left)
        }
        return DuePollResult(try rows.compactMap(Reminder.init), left: left)
    }

    /// Stores the next check of each reminder, unless the reminder or its time zone has changed since it was locked.
    ///
    /// The date of its last event is stored in any case: there is one event per date. A reminder whose only date is over
    /// is removed.
    package func keep(_ plans: [ReminderPlan]) async throws(PostgresError) {
        guard !plans.isEmpty else { return }
        _ = try await pool.run(
            Self.keep,
            Self.hands(plans.map(\.reminder)) + [
                .instantArray(plans.map { $0.next?.microseconds }), .textArray(plans.map { $0.firedOn?.description }),
                .booleanArray(plans.map(\.isOver)),
            ]
        )
    }

    /// Releases reminders that could not be processed, so that they are checked again immediately.
    package func release(_ reminders: [Reminder]) async throws(PostgresError) {
        guard !reminders.isEmpty else { return }
        _ = try await pool.run(Self.release, Self.hands(reminders))
    }

    private static func hands(_ reminders: [Reminder]) -> [Parameter] {
        UserKey.parameters(reminders.map(\.key)) + [
            .textArray(reminders.map(\.id.text)), .instantArray(reminders.map(\.heldUntil)),
        ]
    }

    private static func free(_ condition: String, _ order: String = "") -> String {
        """
        (SELECT app, user_id, id, next_fire_at FROM reminders
         WHERE \(condition) AND removed_at IS NULL 
           AND (held_until IS NULL OR held_until NOT BETWEEN now() AND now() + interval '1 min')
         \(order) LIMIT $1
         FOR UPDATE SKIP LOCKED)
        """
    }

    private static let take = Statement(
        """
        WITH due AS \(free("next_fire_at <= least(now(), $3::timestamptz) AND \(DuePoll.reaches("next_fire_at", "$2"))", "ORDER BY next_fire_at")),
            unplanned AS \(free("next_fire_at IS NULL"))
        UPDATE reminders t SET held_until = now() + interval '30 s'
        FROM (SELECT * FROM due UNION ALL SELECT * FROM unplanned) AS o
        WHERE t.app = o.app AND t.user_id = ANY (ARRAY[o.user_id]) AND t.id = o.id
        RETURNING t.app, t.user_id, t.id, t.held_until, \(DuePoll.age(of: "o.next_fire_at"))
        """
    )

    private static let look = Statement(
        """
        SELECT r.app, r.user_id, r.id, r.local_time, r.days, coalesce(r.timezone, p.timezone), r.title, r.body,
               r.event_type, r.planned_from, r.last_fired_on::text, r.held_until
        FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS h (app, user_id, id, held_until)
        JOIN reminders r
            ON r.app = h.app AND r.user_id = ANY (ARRAY[h.user_id]) AND r.id = h.id AND r.held_until = h.held_until
        LEFT JOIN LATERAL (
            SELECT timezone FROM recipients WHERE user_id = r.user_id AND app = r.app OFFSET 0
        ) AS p ON true
        WHERE coalesce(r.removed_at, 'infinity') = 'infinity'
        ORDER BY coalesce(r.next_fire_at, 'infinity'), h.user_id, h.app, h.id
        """,
        effect: .reads
    )

    /// Locks the rows in the same order as feeds.
    private static let keep = Statement(
        """
        WITH plans AS MATERIALIZED (
            SELECT r.*
            FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[],
                        $7::boolean[])
                 AS r (app, user_id, id, held_until, next_fire_at, fired_on, is_over)
            JOIN reminders l ON l.app = r.app AND l.user_id = ANY (ARRAY[r.user_id]) AND l.id = r.id
            ORDER BY r.user_id COLLATE "C", r.app COLLATE "C", r.id COLLATE "C"
            FOR UPDATE OF l
        )
        UPDATE reminders t SET
            next_fire_at = CASE WHEN t.held_until = r.held_until
                THEN coalesce(r.next_fire_at, 'infinity') ELSE t.next_fire_at END,
            removed_at = CASE WHEN t.held_until = r.held_until AND r.is_over THEN now() END,
            held_until = nullif(t.held_until, r.held_until),
            last_fired_on = greatest(t.last_fired_on, r.fired_on::date)
        FROM plans r
        WHERE t.app = r.app AND t.user_id = ANY (ARRAY[r.user_id]) AND t.id = r.id
          AND coalesce(t.removed_at, 'infinity') = 'infinity'
          AND (t.held_until = r.held_until OR r.fired_on IS NOT NULL)
        """
    )

    private static let release = Statement(
        """
        WITH held AS MATERIALIZED (
            SELECT l.app, l.user_id, l.id
            FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS r (app, user_id, id, held_until)
            JOIN reminders l ON l.app = r.app AND l.user_id = ANY (ARRAY[r.user_id]) AND l.id = r.id
            WHERE l.held_until = r.held_until
            ORDER BY r.user_id COLLATE "C", r.app COLLATE "C", r.id COLLATE "C"
            FOR UPDATE OF l
        )
        UPDATE reminders t SET held_until = NULL
        FROM held h WHERE t.app = h.app AND t.user_id = ANY (ARRAY[h.user_id]) AND t.id = h.id
        """
    )
}

extension Reminder {
    /// Creates a reminder from a row; `nil` if no Bellhop process can have written the row.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let app = AppID(validating: try rows.text(row, 0)), let user = UserID(validating: try rows.text(row, 1)),
            let id = ReminderID(validating: try rows.text(row, 2)),
            let localTime = LocalTime(validating: try rows.text(row, 3))
        else { return nil }
        key = UserKey(app: app, user: user)
        self.id = id
        self.localTime = localTime
        days = ScheduleDays(text: try rows.optionalText(row, 4) ?? "")
        timezone = try rows.optionalText(row, 5).flatMap(TimeZoneName.init(validating:))
        title = try rows.text(row, 6)
        body = try rows.text(row, 7)
        type = try rows.optionalText(row, 8).flatMap(EventType.init(validating:))
        plannedFrom = try rows.moment(row, 9)
        lastFiredOn = try rows.optionalText(row, 10).flatMap(LocalDate.init(validating:))
        heldUntil = try rows.instant(row, 11)
    }
}
