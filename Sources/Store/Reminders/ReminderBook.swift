package import BellhopRules
package import Postgres

/// A reminder as it stands.
package struct Reminder: Sendable {
    package let key: RecipientKey
    package let id: ReminderID
    package let localTime: LocalTime
    package let days: Set<Weekday>
    /// Its own zone, or else the user's; nil where neither is known.
    package let timezone: TimeZoneName?
    package let title: String
    package let body: String
    /// What its notifications are; nil for the app's usual type.
    package let type: EventType?
    /// When it was set or changed.
    package let plannedFrom: Timestamp
    package let lastFiredOn: LocalDate?
    /// Tells one version of it from another.
    let sourceTime: Int64
}

/// When a reminder is looked at again.
package struct ReminderPlan: Sendable {
    let reminder: Reminder
    /// Nil for never.
    let next: Timestamp?
    let firedOn: LocalDate?

    package init(_ reminder: Reminder, next: Timestamp?, firedOn: LocalDate? = nil) {
        self.reminder = reminder
        self.next = next
        self.firedOn = firedOn
    }
}

/// The table `reminders`, from the side of the clock.
package struct ReminderBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The reminders that have to be looked at: those that are due, the longest overdue first, and those that are new or
    /// changed.
    package func open(atMost limit: Int) async throws(PostgresError) -> [Reminder] {
        let rows = try await pool.run(Self.open, [.integer(Int64(limit))])
        var reminders: [Reminder] = []
        for row in rows.indices {
            if let reminder = try Reminder(rows, row) { reminders.append(reminder) }
        }
        return reminders
    }

    /// Keeps when each is looked at again, unless it has been changed since it was read.
    package func keep(_ plans: [ReminderPlan]) async throws(PostgresError) {
        guard !plans.isEmpty else { return }
        _ = try await pool.run(
            Self.keep,
            [
                .textArray(plans.map(\.reminder.key.app.text)), .textArray(plans.map(\.reminder.key.user.text)),
                .textArray(plans.map(\.reminder.id.text)), .instantArray(plans.map(\.reminder.sourceTime)),
                .instantArray(plans.map { $0.next?.microseconds }), .textArray(plans.map { $0.firedOn?.description }),
            ]
        )
    }

    private static let columns = """
        r.app, r.user_id, r.id, r.local_time, r.days, coalesce(r.timezone, p.timezone), r.title, r.body, r.event_type,
        r.planned_from, r.last_fired_on::text, r.source_time
        """

    private static let open = Statement(
        """
        (SELECT \(columns)
         FROM reminders r LEFT JOIN recipients p ON p.app = r.app AND p.user_id = ANY (ARRAY[r.user_id])
         WHERE r.next_fire_at <= now() AND r.removed_at IS NULL
         ORDER BY r.next_fire_at LIMIT $1)
        UNION ALL
        (SELECT \(columns)
         FROM reminders r LEFT JOIN recipients p ON p.app = r.app AND p.user_id = ANY (ARRAY[r.user_id])
         WHERE r.next_fire_at IS NULL AND r.removed_at IS NULL
         LIMIT $1)
        """,
        effect: .reads
    )

    private static let keep = Statement(
        """
        UPDATE reminders t SET
            next_fire_at = coalesce(r.next_fire_at, 'infinity'),
            last_fired_on = greatest(t.last_fired_on, r.fired_on::date)
        FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[])
             AS r (app, user_id, id, source_time, next_fire_at, fired_on)
        WHERE t.app = r.app AND t.user_id = ANY (ARRAY[r.user_id]) AND t.id = r.id AND t.source_time = r.source_time
          AND coalesce(t.removed_at, 'infinity') = 'infinity'
        """
    )
}

extension Reminder {
    /// Nil for a row that no program of ours wrote.
    fileprivate init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let app = AppID(validating: try rows.text(row, 0)), let user = UserID(validating: try rows.text(row, 1)),
            let id = ReminderID(validating: try rows.text(row, 2)),
            let localTime = LocalTime(validating: try rows.text(row, 3))
        else { return nil }
        key = RecipientKey(app: app, user: user)
        self.id = id
        self.localTime = localTime
        let days = try rows.optionalText(row, 4) ?? ""
        self.days = Set(days.split(separator: ",").compactMap { Weekday(rawValue: String($0)) })
        timezone = try rows.optionalText(row, 5).flatMap(TimeZoneName.init(validating:))
        title = try rows.text(row, 6)
        body = try rows.text(row, 7)
        type = try rows.optionalText(row, 8).flatMap(EventType.init(validating:))
        plannedFrom = Timestamp(clamping: try rows.instant(row, 9))
        lastFiredOn = try rows.optionalText(row, 10).flatMap(LocalDate.init(validating:))
        sourceTime = try rows.instant(row, 11)
    }
}
