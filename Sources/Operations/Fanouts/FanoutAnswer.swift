package import BellhopJSON
import BellhopRules
package import Store

/// The state of a fan-out, with its details if they were asked for.
package struct FanoutAnswer: Sendable {
    package let progress: FanoutProgress
    package let detail: FanoutDetail?
    /// The reasons why it does not progress, or `nil` for a list entry.
    package let obstacles: [String]?
    /// Whether deliveries of the fan-out wait behind a hold, or `nil` if this was not checked.
    package let isHeld: Bool?
    /// Whether it has ended and pushes of it still wait: behind a hold or breaker, for capacity, another attempt or their
    /// time; `nil` if this was not checked.
    package let waits: Bool?
    /// The counted outcomes of its deliveries, or `nil` for a list entry.
    package let results: FanoutResults?
    /// The holds that may stop its pushes; `nil` if they were not checked.
    package let holds: [OperatorHold]?
    /// The operator whose latest act on the fan-out itself still lacks a reason; `nil` without such an act.
    private let unexplainedActBy: String?
    /// The present size of everyone, or `nil` for a list entry or a topic.
    package let everyone: EveryoneCount?
    /// Whether a worker runs; without one nothing is sent.
    package let hasWorker: Bool

    /// Creates the view of a list entry; `holds` are all that are active, or `nil` if they are unknown.
    package init(
        _ progress: FanoutProgress,
        isHeld: Bool? = nil,
        waits: Bool? = nil,
        holds: [OperatorHold]? = nil,
        unexplainedBy: String? = nil,
        hasWorker: Bool
    ) {
        self.progress = progress
        self.hasWorker = hasWorker
        self.isHeld = isHeld
        self.waits = waits
        self.holds = holds?.filter { $0.scope.mayConcern(progress.record) }
        unexplainedActBy = unexplainedBy
        detail = nil
        obstacles = nil
        results = nil
        everyone = nil
    }

    init(
        _ progress: FanoutProgress,
        detail: FanoutDetail,
        surroundings: FanoutObstacles,
        results: FanoutResults,
        everyone: EveryoneCount?,
        unexplainedBy: String?
    ) {
        self.progress = progress
        self.detail = detail
        self.results = results
        self.everyone = everyone
        hasWorker = surroundings.status.hasWorker
        obstacles = progress.obstacles(detail, surroundings)
        isHeld = surroundings.holds.contains { $0.waiting > 0 }
        waits = progress.record.finishedAt != nil && results.deliveries.waiting > 0
        holds = surroundings.holds.map(\.hold)
        unexplainedActBy = unexplainedBy
    }

    private var record: FanoutRecord { progress.record }

    /// The hold on its whole type, as a stop places it; `nil` without such a hold.
    private var heldType: OperatorHold? { holds?.first { $0.scope.isType(of: record) } }

    /// The operator whose latest act on it still lacks a reason; `nil` without such an act.
    ///
    /// The act may be a stop that only held the type, because the fan-out did not run.
    private var unexplainedBy: String? {
        unexplainedActBy ?? (record.state == .running ? nil : heldType?.unexplainedBy)
    }

    /// Whether it should progress and no worker runs, so that its former rate no longer applies.
    package var isUnattended: Bool { record.state == .running && !hasWorker }

    /// The users per second; `nil` without an estimate or a worker.
    package var rate: Double? { isUnattended ? nil : record.rate(at: asOf) }

    /// The estimated seconds until the end; `nil` without an estimate or a worker.
    package var secondsLeft: Double? { isUnattended ? nil : progress.secondsLeft }

    /// The time without a complete page, if it is longer than usual and a worker runs.
    package var interruption: Duration? { isUnattended ? nil : record.interruption(at: asOf) }

    private var asOf: Timestamp { progress.asOf }

    /// The members of its JSON.
    package var members: [(String, JSONValue)] {
        let counts = record.progress
        let hasEnd = record.finishedAt == nil && !progress.leftIsCapped
        return [
            ("fanout", .int(record.number)), ("app", .string(record.app)),
            ("event", .string(record.event)), ("type", .string(record.type)), ("topic", .optional(record.topic)),
            ("everyone", .bool(record.topic == nil)), ("lane", .string(record.priority.lane.rawValue)),
            ("state", .string(record.state.rawValue)), ("stalled", .bool(progress.isStalled)),
            ("trouble", .optional(record.trouble)), ("users", .int(counts.users)),
            ("usersLeft", .int(progress.left)), ("usersLeftIsCapped", .bool(progress.leftIsCapped)),
            ("usersEstimated", hasEnd ? .int(counts.users + progress.left) : .null),
            ("recorded", .int(counts.recorded)), ("dueImmediately", .int(counts.sent)), ("sent", sent),
            ("pages", .int(counts.pages)), ("pagesPlanned", .int(counts.planned)),
            ("usersPerSecond", rate.map { .decimal($0, digits: 1) } ?? .null),
            ("secondsLeft", secondsLeft.map { .decimal($0, digits: 1) } ?? .null),
            ("stillSeconds", .optional(interruption.map { Int($0.components.seconds) })),
            ("startedAt", .string(record.startedAt.description)),
            ("workedAt", .optional(counts.workedAt?.description)),
            ("pausedAt", .optional(record.pausedAt?.description)),
            ("finishedAt", .optional(record.finishedAt?.description)), ("hasWorker", .bool(hasWorker)),
        ] + (waits.map { [("pushesWait", .bool($0))] } ?? [])
            + (isHeld.map { [("held", .bool($0)), ("typeHold", (heldType?.number).map { .int($0) } ?? .null)] } ?? [])
            + (holds.map { [("holds", .array($0.map(\.reference))), ("unexplainedBy", .optional(unexplainedBy))] } ?? [])
            + details
    }

    /// The deliveries that providers have accepted; null in lists, and if there are too many users to count.
    private var sent: JSONValue {
        guard let results, results.isComplete else { return .null }
        return .int(results.deliveries.sent)
    }

    private var details: [(String, JSONValue)] {
        guard let detail, let results else { return [] }
        let pages = detail.pages.map { page in
            JSONValue.members([
                ("page", .int(page.number)), ("handedOverAt", .optional(page.handedOverAt?.description)),
                ("takenAt", .optional(page.takenAt?.description)),
            ])
        }
        let acts = detail.acts.map { act in
            JSONValue.members([
                ("at", .string(act.at.description)), ("by", .string(act.operator)), ("act", .string(act.act)),
                ("because", .string(act.because)), ("discarded", act.discarded.map(JSONValue.int) ?? .null),
            ])
        }
        return [
            ("waits", .array((obstacles ?? []).map(JSONValue.string))), ("openPages", .array(pages)),
            ("acts", .array(acts)), ("results", results.json),
            ("everyoneNow", everyone?.json ?? .null), ("everyoneWords", .optional(everyone?.text)),
        ]
    }
}
