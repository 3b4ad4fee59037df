package import BellhopRules
package import Postgres

/// The state of a replay.
package enum ReplayState: String, CaseIterable, Sendable {
    case running
    /// Paused by an operator, or automatically because too many items failed.
    case paused
    /// No further items are sent; items already sent still complete.
    case cancelled
    case done
}

/// The outcome of one item of a replay, as stored in the table.
package enum ReplayOutcome: String, CaseIterable, Sendable {
    /// The push was sent, or its provider accepted it.
    case delivered
    /// The message was processed: notifications recorded, settings changed, or an event stored until it is due.
    case recorded
    /// The message is for a topic or for everyone, and its fan-out has begun.
    case fannedOut = "fanned-out"
    /// All of it was stored already.
    case alreadyRecorded = "already-recorded"
    /// The ledger shows it as sent, so nothing was repeated.
    case alreadyDelivered = "already-delivered"
    /// It waits in the ledger: for the end of a pause or quiet hours, for a digest, or behind a hold.
    case deferred
    /// It failed again, and the ledger retries it automatically.
    case retrying
    /// The provider's settings are wrong, and the ledger retries it automatically.
    case refused
    /// A rule suppresses it.
    case suppressed
    case expired
    case deviceGone = "device-gone"
    /// It failed again and is open again.
    case failed
    /// It was already open work and will be sent anyway.
    case stillOwed = "still-owed"
    /// Its notification or its delivery has been deleted.
    case gone
    /// It left the horizon before it was sent, and is open again.
    case tooOld = "too-old"
    /// The answer was lost, and the policy forbids a repeat; or the replay was cancelled before the message's outcome
    /// was reported, and the message is open again.
    case unknown
    /// The replay was cancelled before the item was sent.
    case cancelled

    /// Whether the outcome counts as a failure, which may pause the replay.
    package var isFailure: Bool {
        switch self {
        case .failed, .refused, .retrying: true
        default: false
        }
    }

    /// Whether the item certainly ended without a message for its user, and not as a failure.
    package var isUnsent: Bool {
        switch self {
        case .suppressed, .expired, .deviceGone, .gone, .cancelled: true
        default: false
        }
    }

    /// Whether the item is open again.
    var reopens: Bool {
        switch self {
        case .failed, .stillOwed, .tooOld, .cancelled: true
        default: false
        }
    }

    /// Whether a cancellation may give it to an item, whose message may be processed nevertheless.
    var isOfCancellation: Bool { self == .cancelled || self == .unknown }

    /// Returns the matching outcomes as an SQL list.
    static func list(where isWanted: (ReplayOutcome) -> Bool) -> String {
        allCases.filter(isWanted).map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }

    /// The condition that a column has an outcome after which the dead letter is open again.
    static func reopens(_ column: String) -> String {
        "\(column) IN (\(list(where: \.reopens)))"
    }
}

/// A replay as stored.
package struct ReplayRecord: Sendable {
    package let id: Int64
    package let state: ReplayState
    package let filter: JSONObject
    package let `operator`: String
    package let because: String
    package let items: Int
    package let pace: ReplayOrder.Pace
    /// The number of items that may be sent next in a ramp.
    package let ramp: Int?
    package let pauseReason: String?
    package let startedAt: Timestamp
    package let finishedAt: Timestamp?
    /// The time at which it last began to run.
    package let resumedAt: Timestamp
    /// Whether a scheduler currently runs it.
    package let isCarried: Bool

    static let columns = """
        r.id, r.state, r.filter, r.operator, r.because, r.items, r.rate::bigint, r.ramp::bigint, r.pause_share::bigint,
        r.pause_reason, r.started_at, r.finished_at, coalesce(r.runner_until > now(), false), r.not_before,
        r.resumed_at
        """

    /// Creates a replay from ``columns``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        id = try rows.integer(row, 0)
        state = ReplayState(rawValue: try rows.text(row, 1)) ?? .done
        filter = (try? JSONParser(limits: .event).parse(try rows.json(row, 2)).get())?.object ?? JSONObject()
        self.operator = try rows.text(row, 3)
        because = try rows.text(row, 4)
        items = try rows.number(row, 5)
        ramp = try rows.optionalInteger(row, 7).map { Int(clamping: $0) }
        pace = ReplayOrder.Pace(
            rate: try rows.optionalInteger(row, 6).map { Int(clamping: $0) },
            isRamped: ramp != nil,
            pauseShare: try rows.number(row, 8),
            notBefore: try rows.timestamp(row, 13)
        )
        pauseReason = try rows.optionalText(row, 9)
        startedAt = try rows.moment(row, 10)
        finishedAt = try rows.timestamp(row, 11)
        isCarried = try rows.boolean(row, 12)
        resumedAt = try rows.moment(row, 14)
    }
}

/// A replay in a list.
package struct ReplayEntry: Sendable {
    package let replay: ReplayRecord
    /// The number of items with an outcome.
    package let settled: Int
    /// The number of items that a cancellation left unsent, so that they are open again; they count as settled.
    package let left: Int
}

/// The progress of a replay.
package struct ReplayProgress: Sendable {
    package let replay: ReplayRecord
    package let waiting: Int
    /// The number of sent items without an outcome.
    package let underWay: Int
    package let outcomes: [ReplayOutcome: Int]
    /// The number of items that were settled within ``latestSpan``.
    package let settledLately: Int
    /// The time of the latest outcome; `nil` before the first one.
    package let settledAt: Timestamp?

    /// The time for which ``settledLately`` counts.
    package static let latestSpan = Duration.seconds(30)

    package var settled: Int { outcomes.values.reduce(0, +) }
    /// The number of items that a cancellation left unsent, so that they are open again; they count as settled.
    package var left: Int { outcomes[.cancelled] ?? 0 }
    package var isFinished: Bool { replay.finishedAt != nil }

    /// The time since which it has sent, or would have sent, without an interruption.
    private var sendsSince: Timestamp {
        max(replay.startedAt, replay.resumedAt, replay.pace.notBefore ?? replay.startedAt)
    }

    /// Whether it should progress at `now`.
    private func shouldProgress(at now: Timestamp) -> Bool {
        replay.state == .running && !isFinished && waiting + underWay > 0 && sendsSince <= now
    }

    /// The time without an outcome, if it is longer than usual; `nil` if it progresses or need not progress.
    package func standstill(at now: Timestamp) -> Duration? {
        guard shouldProgress(at: now) else { return nil }
        let last = max(settledAt ?? sendsSince, sendsSince)
        let passed = Duration.microseconds(now.microseconds - last.microseconds)
        return passed >= Self.usualPause ? passed : nil
    }

    /// The estimated remaining time at the latest pace, which does not exceed the rate; `nil` if nothing is left to do, or
    /// no estimate is possible.
    package func timeLeft(at now: Timestamp) -> Duration? {
        guard shouldProgress(at: now), standstill(at: now) == nil, settledLately >= Self.leastSettled else {
            return nil
        }
        let span = min(Self.latestSpan, .microseconds(now.microseconds - sendsSince.microseconds))
        guard span >= Self.leastSpan else { return nil }
        let least = replay.pace.rate.map { Duration.seconds(waiting) / $0 } ?? .zero
        return max(least, span / settledLately * (waiting + underWay))
    }

    /// A pause between outcomes that needs no explanation.
    ///
    /// A replay sends at least one item per second.
    private static let usualPause = Duration.seconds(5)
    /// The minima for an estimate.
    private static let leastSettled = 10
    private static let leastSpan = Duration.seconds(2)
}

/// The outcomes of a replay over time, from its beginning until now or its end, in intervals of equal length.
package struct ReplayTimeline: Sendable {
    /// The number of items settled in each interval, without items that were cancelled before they were sent.
    package internal(set) var settled = Array(repeating: 0, count: Self.parts)
    /// The number of them that failed.
    package internal(set) var failed = Array(repeating: 0, count: Self.parts)

    /// The number of intervals, the same as the hours in a group's last day.
    package static let parts = 24

    /// Creates a course without outcomes.
    package init() {}
}

/// The users whom the fan-outs of a replay have reached.
package struct ReplayReach: Sendable, Equatable {
    package let fanouts: Int
    /// The sum over all fan-outs; a user of several counts several times.
    package let users: Int
    /// The number of fan-outs that have not ended.
    package let open: Int
}

extension ReplayAdmin {
    /// Returns the reach of the fan-outs that a replay has started.
    package func reach(of id: Int64) async throws(PostgresError) -> ReplayReach {
        let rows = try await pool.run(Self.reach, [.integer(id)])
        return ReplayReach(
            fanouts: try rows.number(0, 0),
            users: try rows.number(0, 1),
            open: try rows.number(0, 2)
        )
    }

    private static let reach = Statement(
        """
        SELECT count(*), coalesce(sum(f.users), 0)::bigint, count(*) FILTER (WHERE f.state IN ('running', 'paused'))
        FROM replay_items i
        CROSS JOIN LATERAL (
            SELECT app, event_id FROM dead_letters WHERE dead_id = i.dead_id AND event_id IS NOT NULL OFFSET 0
        ) AS d
        JOIN fanouts f ON f.app = d.app AND f.event_id = d.event_id
        WHERE i.replay_id = $1 AND i.outcome = '\(ReplayOutcome.fannedOut.rawValue)'
        """,
        effect: .reads
    )

    /// Returns a replay's outcomes over time.
    package func course(of id: Int64) async throws(PostgresError) -> ReplayTimeline {
        let rows = try await pool.run(Self.course, [.integer(id)])
        var course = ReplayTimeline()
        for row in rows.indices {
            let part = try rows.number(row, 0)
            guard course.settled.indices.contains(part) else { continue }
            course.settled[part] += try rows.number(row, 1)
            course.failed[part] += try rows.number(row, 2)
        }
        return course
    }

    /// Items that are settled exactly at the end belong to the last interval.
    private static let course = Statement(
        """
        SELECT least(floor(extract(epoch FROM i.settled_at - r.started_at) * \(ReplayTimeline.parts)
                           / greatest(extract(epoch FROM coalesce(r.finished_at, now()) - r.started_at), 0.001)),
                     \(ReplayTimeline.parts - 1))::bigint AS part,
               count(*), count(*) FILTER (WHERE i.outcome IN (\(ReplayOutcome.list(where: \.isFailure))))
        FROM replay_items i JOIN replays r ON r.id = i.replay_id
        WHERE i.replay_id = $1 AND i.state = 'settled' AND i.outcome <> '\(ReplayOutcome.cancelled.rawValue)'
        GROUP BY part
        """,
        effect: .reads
    )
}

/// An item that a replay could not resolve.
package struct ReplayFailure: Sendable {
    package let deadID: String
    package let outcome: ReplayOutcome
    package let reason: String
    /// The outcome's detail, or the item's current error.
    package let error: String
    package let at: Timestamp

    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        deadID = try rows.text(row, 0)
        outcome = ReplayOutcome(rawValue: try rows.text(row, 1)) ?? .failed
        error = try rows.text(row, 2)
        reason = try rows.text(row, 3)
        at = try rows.moment(row, 4)
    }
}

/// Items of a replay that ended with one outcome for one reason, and without a message for their users.
package struct UnsentReplayItems: Sendable, Equatable {
    package let outcome: ReplayOutcome
    /// The reason in the ledger; `nil` if there is none.
    package let reason: String?
    package let count: Int
    /// The first of them, at most ``mostNamed``.
    package internal(set) var items: [String]

    package static let mostNamed = 5
    /// The limit of reasons, those with the most items first.
    static let mostReasons = 20
}

extension ReplayAdmin {
    /// Returns a replay's items that ended without a message for their users, by outcome and reason.
    package func unsent(of id: Int64) async throws(PostgresError) -> [UnsentReplayItems] {
        let rows = try await pool.run(Self.unsent, [.integer(id)])
        var all: [UnsentReplayItems] = []
        for row in rows.indices {
            let (outcome, reason) = (try rows.text(row, 0), try rows.optionalText(row, 1))
            let item = try rows.text(row, 3)
            if let last = all.last, last.outcome.rawValue == outcome, last.reason == reason {
                all[all.count - 1].items.append(item)
            } else if let outcome = ReplayOutcome(rawValue: outcome) {
                let count = try rows.number(row, 2)
                all.append(UnsentReplayItems(outcome: outcome, reason: reason, count: count, items: [item]))
            }
        }
        return all
    }

    private static let unsent = Statement(
        """
        SELECT outcome, detail, items, dead_id FROM (
            SELECT *, dense_rank() OVER (ORDER BY items DESC, outcome, detail) AS rank FROM (
                SELECT outcome, detail, dead_id, count(*) OVER (PARTITION BY outcome, detail) AS items,
                       row_number() OVER (PARTITION BY outcome, detail ORDER BY position) AS place
                FROM replay_items
                WHERE replay_id = $1 AND state = 'settled' AND outcome IN (\(ReplayOutcome.list(where: \.isUnsent)))
            ) AS counted WHERE place <= \(UnsentReplayItems.mostNamed)
        ) AS ranked WHERE rank <= \(UnsentReplayItems.mostReasons) ORDER BY rank, place
        """,
        effect: .reads
    )
}
