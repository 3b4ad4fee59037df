package import BellhopRules
import Postgres

/// The fan-out of one event, as stored in the table `fanouts`.
package struct FanoutRecord: Sendable {
    package let number: Int64
    package let app: String
    package let event: String
    package let type: String
    /// The topic; `nil` for everyone.
    package let topic: String?
    package let priority: Priority
    package let state: FanoutState
    /// The reason for an automatic pause; `nil` if an operator paused the fan-out or it is not paused.
    package let trouble: String?
    /// When the snapshot was taken.
    ///
    /// Users who follow later are not in the audience.
    package let startedAt: Timestamp
    package let pausedAt: Timestamp?
    /// When it was finished or cancelled.
    package let finishedAt: Timestamp?
    package let progress: Progress

    /// The progress of a fan-out.
    package struct Progress: Sendable {
        /// The number of finished pages.
        package let pages: Int
        /// The number of pages planned so far.
        package let planned: Int
        /// The users on finished pages, their new notifications, and the deliveries that were due immediately.
        package let users: Int
        package let recorded: Int
        package let sent: Int
        /// When a page was last finished.
        package let workedAt: Timestamp?
        /// When the fan-out last began to run, and the number of users processed until then.
        package let resumedAt: Timestamp
        package let resumedUsers: Int
    }

    static let columns = """
        f.number, f.app, f.event_id, f.type, f.topic, f.urgency::bigint AS urgency, f.state, f.trouble, f.started_at,
        f.paused_at, f.finished_at, f.pages, f.planned, f.users, f.recorded, f.sent, f.worked_at, f.resumed_at,
        f.resumed_users
        """

    /// Creates a record from ``columns``.
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

    /// Users per second since it last began to run; `nil` if the time or the progress is too small for an estimate.
    package func rate(at now: Timestamp) -> Double? {
        let users = progress.users - progress.resumedUsers
        let end = finishedAt ?? (state == .paused ? pausedAt : nil) ?? now
        let passed = end.microseconds - progress.resumedAt.microseconds
        guard users > 0, passed > 0, finishedAt != nil || passed >= Self.leastWatched else { return nil }
        return Double(users) * 1e6 / Double(passed)
    }

    /// The minimum time for an estimate of the rate, in microseconds.
    private static let leastWatched: Int64 = 1_000_000

    /// The time without visible progress; `nil` if the state requires none.
    package func standstill(at now: Timestamp) -> Duration? {
        guard state == .running else { return nil }
        let last = max(progress.workedAt?.microseconds ?? 0, progress.resumedAt.microseconds)
        return .microseconds(max(0, now.microseconds - last))
    }
}

/// A fan-out with its remaining work, at a given time.
package struct FanoutProgress: Sendable {
    package let record: FanoutRecord
    /// The number of users not yet processed, as far as counted; zero if the fan-out has ended.
    package let left: Int
    /// Whether there may be more users than ``left``, since the count is limited.
    package let leftIsCapped: Bool
    /// The database clock.
    package let asOf: Timestamp

    /// The estimated seconds until the end, at the rate so far; `nil` if no estimate is possible.
    package var secondsLeft: Double? {
        guard record.state == .running, !leftIsCapped, let rate = record.rate(at: asOf), rate > 0 else { return nil }
        return Double(left) / rate
    }

    package var standstill: Duration? { record.standstill(at: asOf) }

    /// Whether it runs without progress for longer than a page or the release of a lost page explains.
    package var isStalled: Bool { standstill.map { $0 > Self.longestStandstill } ?? false }

    /// A lost page is available again after five minutes.
    package static let longestStandstill = Duration.seconds(300)
}
