package import BellhopRules
import Postgres

/// Where a replay stands.
package enum ReplayState: String, CaseIterable, Sendable {
    case running
    /// By an operator, or by itself because too much failed.
    case paused
    /// Nothing more goes out; what had gone out comes to its end.
    case cancelled
    case done
}

/// What became of one item of a replay; the table keeps the raw words.
package enum ReplayOutcome: String, CaseIterable, Sendable {
    /// The push went out, or its provider took it.
    case delivered
    /// The message was taken in: notifications recorded, settings changed, or an event kept for its time.
    case recorded
    /// All of it was there already.
    case alreadyRecorded = "already-recorded"
    /// The ledger shows it as sent; nothing was repeated.
    case alreadyDelivered = "already-delivered"
    /// It waits in the ledger by a rule, for the end of quiet hours or a digest.
    case deferred
    /// It failed once more, and the ledger tries again by itself.
    case retrying
    /// The provider's settings are wrong; the ledger tries again by itself.
    case refused
    /// A rule says that it does not go out.
    case suppressed
    case expired
    case deviceGone = "device-gone"
    /// It died again, and is open again.
    case failed
    /// Somebody was about to send it anyway.
    case stillOwed = "still-owed"
    /// Its notification or its line in the ledger is no more.
    case gone
    /// It fell out of the horizon before its turn, and is open again.
    case tooOld = "too-old"
    /// The answer never came, and policy forbids a repeat; or the replay was cancelled before anybody reported of the
    /// message, which is open again.
    case unknown
    /// The replay was cancelled before its turn.
    case cancelled

    /// Whether it speaks against going on.
    package var isFailure: Bool {
        switch self {
        case .failed, .refused, .retrying: true
        default: false
        }
    }

    /// Whether the item waits for somebody again.
    var reopens: Bool {
        switch self {
        case .failed, .stillOwed, .tooOld, .cancelled: true
        default: false
        }
    }

    /// As a list in SQL.
    static func list(where isWanted: (ReplayOutcome) -> Bool) -> String {
        allCases.filter(isWanted).map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }
}

/// A replay as it stands.
package struct ReplayRecord: Sendable {
    package let id: Int64
    package let state: ReplayState
    package let filter: JSONObject
    package let `operator`: String
    package let because: String
    package let items: Int
    package let pace: ReplayOrder.Pace
    /// Items that may go out next, for a ramp.
    package let ramp: Int?
    package let pauseReason: String?
    package let startedAt: Timestamp
    package let finishedAt: Timestamp?
    /// Whether a scheduler carries it on at the moment.
    package let isCarried: Bool

    static let columns = """
        r.id, r.state, r.filter, r.operator, r.because, r.items, r.rate::bigint, r.ramp::bigint, r.pause_share::bigint,
        r.pause_reason, r.started_at, r.finished_at, coalesce(r.runner_until > now(), false), r.not_before
        """

    /// From ``columns``.
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
    }
}

/// How far a replay has come.
package struct ReplayProgress: Sendable {
    package let replay: ReplayRecord
    package let waiting: Int
    /// Sent, and nobody knows yet what became of them.
    package let underWay: Int
    package let outcomes: [ReplayOutcome: Int]

    package var settled: Int { outcomes.values.reduce(0, +) }
    package var isFinished: Bool { replay.finishedAt != nil }
}
