package import BellhopRules
import Postgres

/// A page of a fan-out: a range of its audience that one worker processes together.
package struct FanoutPage: Sendable, Hashable {
    /// The number of the fan-out.
    package let fanout: Int64
    /// The number of the page, counted from zero.
    package let page: Int64
    /// The event's priority, which selects the lane of the page.
    package let priority: Priority

    /// The default number of users per page, about as many as one statement can write.
    package static let usualSize = 1000

    package init(fanout: Int64, page: Int64, priority: Priority) {
        self.fanout = fanout
        self.page = page
        self.priority = priority
    }
}

/// The result of taking a page.
package enum PageClaimResult: Sendable {
    /// The page is to be processed.
    case open(ClaimedPage)
    /// There is nothing to process: the fan-out is paused or cancelled, the page is finished, or another batch has
    /// taken it.
    case over
}

/// A page that a worker has taken.
package struct ClaimedPage: Sendable {
    package let app: AppID
    /// The stored event, as JSON.
    package let content: [UInt8]
    package let contentHash: ContentHash
    /// Further pages to publish: newly planned pages, and untaken pages that may have no message.
    package let further: [FanoutPage]
    /// The time since the fan-out began or was resumed.
    package let age: Duration
    let range: Range

    /// The users with ids after `after` and up to `upto` who belonged to the audience at `snapshot`.
    struct Range: Sendable {
        let app: AppID
        /// The topic; `nil` for everyone.
        let topic: String?
        /// Microseconds since 1970, by the database clock.
        let snapshot: Int64
        let after: String
        let upto: String
    }
}

/// The result of a page in figures, as shown in the fan-out's progress.
package struct PageCounts: Sendable {
    package var users = 0
    package var recorded = 0
    /// The number of deliveries that were due immediately.
    package var sent = 0

    package init() {}
}

extension FanoutPage {
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        self.init(
            fanout: try rows.integer(row, 0),
            page: try rows.integer(row, 1),
            priority: Priority(urgency: try rows.integer(row, 2))
        )
    }
}

/// A locked row of `fanouts`, so that no other process plans its pages meanwhile.
struct LockedFanout {
    let number: Int64
    let app: String
    let topic: String?
    let startedAt: Int64
    let isRunning: Bool
    let isPaused: Bool
    /// The time since it began or was resumed.
    let age: Duration
    private let priority: Priority
    private let planned: Int64
    private let plannedTo: String
    private let isPlanned: Bool

    /// The number of planned and unfinished pages per fan-out.
    ///
    /// It is small, so that a pause takes effect soon and the next fan-out does not wait long.
    static let pagesAtOnce = 4

    static func hold(_ number: Int64, on connection: PostgresConnection) throws(PostgresError) -> LockedFanout? {
        let rows = try connection.run(Self.hold, [.integer(number)])
        return rows.isEmpty ? nil : try LockedFanout(number, rows)
    }

    private init(_ number: Int64, _ rows: Rows) throws(PostgresError) {
        self.number = number
        app = try rows.text(0, 0)
        topic = try rows.optionalText(0, 1)
        startedAt = try rows.instant(0, 2)
        let state = try rows.text(0, 3)
        isRunning = state == "running"
        isPaused = state == "paused"
        priority = Priority(urgency: try rows.integer(0, 4))
        planned = try rows.integer(0, 5)
        plannedTo = try rows.text(0, 6)
        isPlanned = try rows.boolean(0, 7)
        age = .milliseconds(try rows.integer(0, 8))
    }

    /// Plans pages until ``pagesAtOnce`` are open, and returns the pages to publish.
    ///
    /// Pages of a paused fan-out are planned, and wait for a resume.
    func topUp(on connection: PostgresConnection, _ usersPerPage: Int) throws(PostgresError) -> [FanoutPage] {
        guard !isPlanned, isRunning || isPaused else { return [] }
        let open = try connection.run(Self.openPages, [.integer(number)]).number(0, 0)
        var (pages, after, isLast): ([FanoutPage], String, Bool) = ([], plannedTo, false)
        var next = planned
        for _ in 0..<max(0, Self.pagesAtOnce - open) where !isLast {
            let upto: String
            (upto, isLast) = try end(after, on: connection, usersPerPage)
            let page: [Parameter] = [.integer(number), .integer(next), .text(after), .text(upto)]
            _ = try connection.run(Self.plan, page + [.boolean(isRunning)])
            pages.append(FanoutPage(fanout: number, page: next, priority: priority))
            next += 1
            after = upto
        }
        guard next > planned else { return [] }
        _ = try connection.run(
            Self.planned,
            [.integer(number), .integer(next), .text(after), .boolean(isLast)]
        )
        return isRunning ? pages : []
    }

    /// Returns the last user of the page that begins after `after`, and whether it is the last page.
    private func end(
        _ after: String,
        on connection: PostgresConnection,
        _ usersPerPage: Int
    ) throws(PostgresError) -> (upto: String, isLast: Bool) {
        let rest: [Parameter] = [.text(after), .integer(Int64(usersPerPage))]
        let rows =
            if let topic {
                try connection.run(FanoutAudience.topicBound, [.text(app), .text(topic)] + rest)
            } else {
                try connection.run(FanoutAudience.everyoneBound, [.text(app)] + rest)
            }
        guard let bound = try rows.optionalText(0, 0) else { return (try rows.optionalText(0, 1) ?? after, true) }
        return (bound, false)
    }

    /// Locks the fan-out, before a page is planned or ended.
    private static let hold = Statement(
        """
        SELECT app, topic, started_at, state, urgency::bigint, planned, planned_to, is_planned,
               floor(extract(epoch FROM now() - resumed_at) * 1000)::bigint
        FROM fanouts WHERE number = $1 FOR NO KEY UPDATE
        """
    )

    private static let openPages = Statement("SELECT count(*) FROM fanout_pages WHERE fanout = $1", effect: .reads)

    private static let plan = Statement(
        """
        INSERT INTO fanout_pages (fanout, page, after, upto, handed_over_at)
        VALUES ($1, $2, $3, $4, CASE WHEN $5::boolean THEN now() ELSE 'infinity' END)
        """
    )

    private static let planned = Statement(
        "UPDATE fanouts SET planned = $2, planned_to = $3, is_planned = $4 WHERE number = $1"
    )
}
