package import BellhopRules
package import Postgres

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

    /// Users per second since it last began to run, or since its last longer interruption.
    ///
    /// It is `nil` if the time or the progress is too small for an estimate, and while nothing progresses.
    package func rate(at now: Timestamp) -> Double? {
        guard interruption(at: now) == nil else { return nil }
        let users = progress.users - progress.resumedUsers
        // It may have ended or been paused long after its last page, and pages in progress complete after a pause.
        let hasStopped = finishedAt != nil || state == .paused
        let end = hasStopped ? progress.workedAt ?? now : now
        let passed = end.microseconds - progress.resumedAt.microseconds
        guard users > 0, passed > 0, finishedAt != nil || passed >= Self.leastWatched else { return nil }
        return Double(users) * 1e6 / Double(passed)
    }

    /// The minimum time for an estimate of the rate, in microseconds.
    private static let leastWatched: Int64 = 1_000_000

    /// The time without a complete page, if it is longer than usual; `nil` if it progresses or need not progress.
    package func interruption(at now: Timestamp) -> Duration? {
        standstill(at: now).flatMap { $0 >= Self.usualPause ? $0 : nil }
    }

    /// A page that takes longer is reported in place of a rate.
    private static let usualPause = Duration.seconds(10)

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

/// The state of a fan-out.
package enum FanoutState: String, CaseIterable, Sendable {
    case running
    /// Paused by an operator or, with a recorded trouble, automatically.
    case paused
    /// No further pages are planned. Pages in progress complete.
    case cancelled
    case finished

    /// The states from which a fan-out can continue.
    package static let open: Set<FanoutState> = [.running, .paused]
}

/// Selects fan-outs.
///
/// All conditions must hold.
package struct FanoutFilter: Sendable, Equatable {
    package var app: String?
    package var event: String?
    package var type: String?
    package var topic: String?
    /// The numbers of individual fan-outs; empty for no such condition.
    package var numbers: [Int64] = []
    /// The accepted states; an action restricts them to the states to which it applies.
    package var states = Set(FanoutState.allCases)

    package init() {}

    /// Whether the filter has any condition other than the states.
    package var isNarrow: Bool {
        !numbers.isEmpty || [app, event, type, topic].contains { $0 != nil }
    }

    /// The condition on `fanouts f`.
    ///
    /// The text contains only the given conditions, so that each combination is planned with a suitable index.
    var condition: SQLPiece {
        var piece = SQLPiece(sql: "", parameters: [])
        // The state names are constants of the program and therefore safe in the text.
        var terms = ["f.state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"]
        for (column, value) in [("app", app), ("event_id", event), ("type", type), ("topic", topic)] {
            guard let value else { continue }
            terms.append("f.\(column) = \(piece.bind(.text(value)))")
        }
        if !numbers.isEmpty { terms.append("f.number = ANY(\(piece.bind(.integerArray(numbers)))::bigint[])") }
        piece.sql = terms.joined(separator: " AND ")
        return piece
    }
}

/// The details of one fan-out that a list does not contain.
package struct FanoutDetail: Sendable {
    /// A page that is planned and not finished.
    package struct Page: Sendable {
        package let number: Int
        /// When its message was last published or taken; `nil` while the page is not to be taken.
        package let handedOverAt: Timestamp?
        /// When a worker began to process it.
        package let takenAt: Timestamp?

        init(_ rows: Rows, _ row: Int) throws(PostgresError) {
            number = try rows.number(row, 0)
            handedOverAt = try rows.timestamp(row, 1)
            takenAt = try rows.timestamp(row, 2)
        }
    }

    /// An operator's action on the fan-out, or on its held deliveries.
    package struct Done: Sendable {
        package let at: Timestamp
        package let `operator`: String
        package let act: String
        package let because: String
        /// The number of discarded deliveries, if the action discarded held deliveries.
        package let discarded: Int?
        /// Whether the action also affected other fan-outs.
        package let isWider: Bool

        init(_ rows: Rows, _ row: Int) throws(PostgresError) {
            at = try rows.moment(row, 0)
            self.operator = try rows.text(row, 1)
            act = try rows.text(row, 2)
            because = try rows.text(row, 3)
            discarded = try rows.optionalInteger(row, 4).map { Int(clamping: $0) }
            isWider = try rows.boolean(row, 5)
        }
    }

    package let pages: [Page]
    /// The actions, the latest first.
    package let acts: [Done]
}

/// The values of the fan-out metrics.
///
/// It reads a bounded number of fan-outs.
package struct FanoutStatistics: Sendable {
    /// The fan-outs of one app in one state.
    package struct Group: Sendable, Equatable {
        package let app: String
        package let state: FanoutState
        package let count: Int
        /// The longest time without progress, in seconds; zero if the state requires none.
        package let standstill: Double
    }

    package let groups: [Group]

    /// Reads the oldest open fan-outs, at most `most` of them.
    package init(of pool: PostgresPool, most: Int = 10_000) async throws(PostgresError) {
        let rows = try await pool.run(Self.open, [.integer(Int64(most))])
        groups = try rows.compactMap { (rows, row) throws(PostgresError) in
            guard let state = FanoutState(rawValue: try rows.text(row, 1)) else { return nil }
            return Group(
                app: try rows.text(row, 0),
                state: state,
                count: try rows.number(row, 2),
                standstill: max(0, try rows.optionalDouble(row, 3) ?? 0)
            )
        }
    }

    private static let open = Statement(
        """
        SELECT app, state, count(*),
               max(extract(epoch FROM now() - greatest(worked_at, resumed_at)))
                   FILTER (WHERE state = 'running')::double precision
        FROM (
            SELECT app, state, worked_at, resumed_at FROM fanouts WHERE state IN ('running', 'paused')
            ORDER BY started_at LIMIT $1
        ) AS open
        GROUP BY app, state
        """,
        effect: .reads
    )
}
