package import BellhopJSON
package import BellhopRules
package import Store

/// The state of a replay, with its outcomes over time and its latest failures.
package struct ReplayAnswer: Sendable {
    package let progress: ReplayProgress
    package let failures: [ReplayFailure]
    /// The items that ended without a message for their users.
    package let unsent: [UnsentReplayItems]
    /// The deliveries that had to wait, by reason and hold.
    package let deferred: [DeferredDeliveries]
    package let course: ReplayTimeline
    /// The reach of its fan-outs; `nil` if it has started none.
    package let reach: ReplayReach?
    /// The name of the group that the filter selects by its fingerprint; `nil` if it selects no group.
    package let group: String?
    /// The reason why it does not progress; `nil` if it progresses, or if the reason cannot be detected.
    package let obstacle: String?
    package let now: Timestamp

    package init(
        _ progress: ReplayProgress,
        failures: [ReplayFailure] = [],
        unsent: [UnsentReplayItems] = [],
        deferred: [DeferredDeliveries] = [],
        course: ReplayTimeline = ReplayTimeline(),
        reach: ReplayReach? = nil,
        group: String? = nil,
        obstacle: String? = nil,
        now: Timestamp
    ) {
        self.progress = progress
        self.failures = failures
        self.unsent = unsent
        self.deferred = deferred
        self.course = course
        self.reach = reach
        self.group = group
        self.obstacle = obstacle
        self.now = now
    }

    /// The estimated remaining time; `nil` while it cannot be estimated, or while nothing progresses.
    package var timeLeft: Duration? { progress.timeLeft(at: now) }
    /// The time without an outcome, if it is longer than usual.
    package var standstill: Duration? { progress.standstill(at: now) }

    package var json: JSONValue {
        let outcomes = ReplayOutcome.allCases.compactMap { outcome in
            progress.outcomes[outcome].map { (outcome.rawValue, JSONValue.int($0)) }
        }
        let failed = failures.map { failure in
            JSONValue.members([
                ("id", .string(failure.deadID)), ("outcome", .string(failure.outcome.rawValue)),
                ("reason", .string(failure.reason)), ("error", .string(failure.error)),
                ("at", .string(failure.at.description)),
            ])
        }
        let others = unsent.map { part in
            JSONValue.members([
                ("outcome", .string(part.outcome.rawValue)), ("reason", .optional(part.reason)),
                ("count", .int(part.count)), ("items", .array(part.items.map(JSONValue.string))),
            ])
        }
        let shares: [(String, JSONValue)] = [
            ("settled", .array(course.settled.map(JSONValue.int))),
            ("failed", .array(course.failed.map(JSONValue.int))),
        ]
        return .members(
            progress.replay.members(at: now) + [
                ("waiting", .int(progress.waiting)), ("underWay", .int(progress.underWay)),
                ("left", .int(progress.left)), ("outcomes", .members(outcomes)), ("failures", .array(failed)),
                ("course", .members(shares)),
                ("reach", reach?.json ?? .null), ("unsent", .array(others)),
                ("deferred", .array(deferred.map(\.json))), ("group", .optional(group)),
                ("secondsLeft", .optional(timeLeft.map { Int($0.components.seconds) })),
                ("stillSeconds", .optional(standstill.map { Int($0.components.seconds) })),
                ("obstacle", .optional(obstacle)),
            ]
        )
    }
}

extension ReplayReach {
    /// The reach in words, such as `to 0 users: no audience` or `to 1,200 users so far`.
    package var words: String {
        if open > 0 { return "to \(users.of("user")) so far" }
        return "to \(users.of("user"))" + (users == 0 ? ": no audience" : "")
    }

    var json: JSONValue {
        .members([
            ("fanouts", .int(fanouts)), ("users", .int(users)), ("open", .int(open)), ("words", .string(words)),
        ])
    }
}

extension ReplayRecord {
    /// The start time, if it is still to come.
    ///
    /// A replay is stored as running from its creation, since it reserves its items.
    package func scheduledStart(at now: Timestamp) -> Timestamp? {
        guard state == .running, finishedAt == nil, let start = pace.notBefore, start > now else { return nil }
        return start
    }

    /// The members that every answer has for a replay.
    package func members(at now: Timestamp) -> [(String, JSONValue)] {
        [
            ("replay", .int(id)), ("state", .string(state.rawValue)), ("by", .string(self.operator)),
            ("because", .string(because)), ("items", .int(items)),
            ("rate", pace.rate.map(JSONValue.int) ?? .null), ("ramp", .bool(pace.isRamped)),
            ("pauseAt", .int(pace.pauseShare)), ("notBefore", .optional(pace.notBefore?.description)),
            ("scheduled", .bool(scheduledStart(at: now) != nil)),
            ("pauseReason", .optional(pauseReason)),
            ("startedAt", .string(startedAt.description)), ("finishedAt", .optional(finishedAt?.description)),
            ("filter", .object(filter)),
        ]
    }
}
