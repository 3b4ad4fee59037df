package import BellhopRules
import Postgres

/// One event on its way to a wide audience, as the table `fanouts` has it.
package struct FanoutRecord: Sendable {
    package let number: Int64
    package let app: String
    package let event: String
    package let type: String
    /// Nil for everyone.
    package let topic: String?
    package let priority: Priority
    package let state: FanoutState
    /// Why it paused by itself; nil where an operator paused it, or nothing did.
    package let trouble: String?
    /// The moment of its snapshot: who follows later is not meant.
    package let startedAt: Timestamp
    package let pausedAt: Timestamp?
    /// When it was finished or cancelled.
    package let finishedAt: Timestamp?
    package let progress: Progress

    /// How far it has come.
    package struct Progress: Sendable {
        /// Finished pages.
        package let pages: Int
        /// Pages that there are so far.
        package let planned: Int
        /// Users read by finished pages, the notifications that were new among them, and deliveries sent at once.
        package let users: Int
        package let recorded: Int
        package let sent: Int
        /// When a page was last finished.
        package let workedAt: Timestamp?
        /// When it last began to run, and how many users had been read by then.
        package let resumedAt: Timestamp
        package let resumedUsers: Int
    }

    static let columns = """
        f.number, f.app, f.event_id, f.type, f.topic, f.urgency::bigint AS urgency, f.state, f.trouble, f.started_at,
        f.paused_at, f.finished_at, f.pages, f.planned, f.users, f.recorded, f.sent, f.worked_at, f.resumed_at,
        f.resumed_users
        """

    /// From ``columns``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        number = try rows.integer(row, "number")
        app = try rows.text(row, "app")
        event = try rows.text(row, "event_id")
        type = try rows.text(row, "type")
        topic = try rows.optionalText(row, "topic")
        priority = Priority(urgency: try rows.integer(row, "urgency"))
        state = FanoutState(rawValue: try rows.text(row, "state")) ?? .finished
        trouble = try rows.optionalText(row, "trouble")
        startedAt = try rows.moment(row, "started_at")
        pausedAt = try rows.timestamp(row, "paused_at")
        finishedAt = try rows.timestamp(row, "finished_at")
        progress = Progress(
            pages: try rows.number(row, "pages"),
            planned: try rows.number(row, "planned"),
            users: try rows.number(row, "users"),
            recorded: try rows.number(row, "recorded"),
            sent: try rows.number(row, "sent"),
            workedAt: try rows.timestamp(row, "worked_at"),
            resumedAt: try rows.moment(row, "resumed_at"),
            resumedUsers: try rows.number(row, "resumed_users")
        )
    }

    // MARK: - Rate

    /// Users a second since it last began to run; nil while there is too little to tell.
    package func rate(at now: Timestamp) -> Double? {
        let users = progress.users - progress.resumedUsers
        let end = finishedAt ?? (state == .paused ? pausedAt : nil) ?? now
        let passed = end.microseconds - progress.resumedAt.microseconds
        guard users > 0, passed > 0, finishedAt != nil || passed >= Self.leastWatched else { return nil }
        return Double(users) * 1e6 / Double(passed)
    }

    /// Below a second a figure says nothing.
    private static let leastWatched: Int64 = 1_000_000

    /// How long it has made no progress that could be seen; nil where it need not make any.
    package func standstill(at now: Timestamp) -> Duration? {
        guard state == .running else { return nil }
        let last = max(progress.workedAt?.microseconds ?? 0, progress.resumedAt.microseconds)
        return .microseconds(max(0, now.microseconds - last))
    }
}

/// A fan-out with what is left of it, at a moment.
package struct FanoutProgress: Sendable {
    package let record: FanoutRecord
    /// Users who are still to be read, as far as they were counted; nothing for one that has ended.
    package let left: Int
    /// Whether there may be more than ``left``: counting stops somewhere, however large the audience is.
    package let leftIsCapped: Bool
    /// The database's clock.
    package let asOf: Timestamp

    /// Seconds until it is through, at the rate so far; nil where nobody can tell.
    package var secondsLeft: Double? {
        guard record.state == .running, !leftIsCapped, let rate = record.rate(at: asOf), rate > 0 else { return nil }
        return Double(left) / rate
    }

    package var standstill: Duration? { record.standstill(at: asOf) }

    /// Whether it runs and has stood still for longer than a page or a hand-over of what was lost explains.
    package var isStalled: Bool { standstill.map { $0 > Self.longestStandstill } ?? false }

    /// A page that was lost comes up again after five minutes.
    package static let longestStandstill = Duration.seconds(300)
}
