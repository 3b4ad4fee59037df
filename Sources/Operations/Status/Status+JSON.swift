package import BellhopJSON
import BellhopRules
import ServiceRuntime
import Store

extension Status {
    /// The status as one object.
    ///
    /// Its names are stable, and unavailable values are null.
    package var json: JSONValue {
        .members(basics + traffic + tables(database.value?.store))
    }

    private var basics: [(String, JSONValue)] {
        let topology = topologyDifferences.map { $0.isEmpty ? "current" : "differs" }
        return [
            ("namespace", .string(namespace.name)),
            ("at", .string("\(time)")),
            ("problems", .array(problems.map(JSONValue.string))),
            ("problemDetails", .array(problemList.map(\.json))),
            ("broker", Self.reached(broker)),
            ("database", Self.reached(database)),
            ("schema", .optional(schemaWord)),
            ("topology", .optional(topology)),
            ("topologyDifferences", topologyDifferences.map { .array($0.map(JSONValue.string)) } ?? .null),
        ]
    }

    private var traffic: [(String, JSONValue)] {
        let workers = Lane.allCases.map { lane -> (String, JSONValue) in
            (lane.rawValue, .optional(queue(.lane(lane))?.counts?.consumers))
        }
        return [
            ("workers", .members(workers)),
            ("schedulers", .optional(schedulers)),
            ("lanes", list { if case .lane(let lane) = $0 { ("lane", .string(lane.rawValue)) } else { nil } }),
            ("resumes", list { if case .resume(let lane) = $0 { ("lane", .string(lane.rawValue)) } else { nil } }),
            ("retries", list { if case .retry(let tier) = $0 { ("tier", .string(tier.name)) } else { nil } }),
            ("retryLeftovers", .optional(retryLeftovers)),
            ("deadLetterQueue", queue(.dead).map { json($0) } ?? .null),
            ("replayQueue", queue(.replay).map { json($0) } ?? .null),
            ("receiptQueue", queue(.receipts).map { json($0) } ?? .null),
            ("outbox", outboxJSON),
        ]
    }

    private var outboxJSON: JSONValue {
        guard let outbox else { return .null }
        let lag = outbox.value
        return .members([
            ("reached", .bool(lag != nil)), ("error", .optional(outbox.obstacle)),
            ("rows", .optional(lag?.rows)), ("rowsIsCapped", lag.map { .bool($0.isCapped) } ?? .null),
            ("oldestAgeSeconds", .optional(lag.map { Int($0.oldestAge) })),
        ])
    }

    private func tables(_ store: StoreStatus?) -> [(String, JSONValue)] {
        [
            ("deliveries", store.map(Self.deliveries) ?? .null),
            ("backlogs", store.map { .array($0.backlogs.map(backlog)) } ?? .null),
            ("plannedEvents", store.map(Self.planned) ?? .null),
            ("fanouts", store.map { Self.fanouts($0.fanouts, hasWorker: $0.hasWorker) } ?? .null),
            ("deadLetters", store.map(Self.deadLetters) ?? .null),
            ("breakers", store.map { store in .array(store.breakers.map { breaker($0, in: store) }) } ?? .null),
            ("failingProviders", store.map { _ in troublesJSON } ?? .null),
            ("retriesByProvider", store.map { .array($0.retries.map(\.json)) } ?? .null),
            ("catalogs", .optional(catalogs)), ("processes", store.map { _ in processesJSON } ?? .null),
            (
                "pausedReplays",
                store.map { store in
                    .array(
                        store.pausedReplays.map { replay in
                            .members([
                                ("replay", .int(replay.id)), ("waiting", .int(replay.waiting)),
                                ("reason", .optional(replay.reason)),
                            ])
                        }
                    )
                } ?? .null
            ),
            ("holds", store.map { store in .array(HeldDeliveries.all(store).map(\.json)) } ?? .null),
        ]
    }

    /// The state of the schema in one word, for both forms.
    package var schemaWord: String? {
        switch database.value?.schema {
        case .current: "current"
        case .pending: "pending"
        case .ahead: "ahead"
        case .diverged: "diverged"
        case nil: nil
        }
    }

    private static func reached<Value>(_ sight: Observed<Value>) -> JSONValue {
        .members([("reached", .bool(sight.obstacle == nil)), ("error", .optional(sight.obstacle))])
    }

    /// Returns the queues of one purpose, each with the member that identifies it.
    private func list(_ member: (QueueStatus.Purpose) -> (String, JSONValue)?) -> JSONValue {
        guard let queues = broker.value else { return .null }
        return .array(queues.compactMap { queue in member(queue.purpose).map { json(queue, [$0]) } })
    }

    private func json(_ queue: QueueStatus, _ members: [(String, JSONValue)] = []) -> JSONValue {
        .members(
            members + [
                ("queue", .string(queue.name)), ("ready", .optional(queue.counts?.ready)),
                ("unacked", .optional(queue.counts?.unacked)),
                ("oldestAgeSeconds", .optional(age(queue).map { Int($0.components.seconds) })),
                ("consumers", .optional(queue.counts?.consumers)),
            ]
        )
    }

    /// Returns the age of a queue's oldest message.
    ///
    /// It is never negative, even if the sender's clock is ahead.
    package func age(_ queue: QueueStatus) -> Duration? {
        queue.counts?.oldestSent.map { max(.zero, time - Instant(microseconds: $0)) }
    }

    private static func deliveries(_ store: StoreStatus) -> JSONValue {
        let groups = store.owed.map { group in
            JSONValue.members([
                ("state", .string(group.state)), ("reason", .optional(group.reason)), ("count", .int(group.count)),
                ("oldestDueAt", .string("\(Instant(microseconds: group.oldestDue))")),
                ("latestDueAt", .string("\(Instant(microseconds: group.latestDue))")),
            ])
        }
        let total = store.owed.map(\.count).reduce(0, +)
        let oldest = store.owed.map(\.oldestDue).min()
        return .members([
            ("owed", .int(total)), ("owedIsCapped", .bool(total >= StoreStatus.most)),
            ("overdue", .int(store.overdue)), ("oldestDueAt", .instant(oldest)), ("groups", .array(groups)),
        ])
    }

    private func backlog(_ backlog: WaitingBacklog) -> JSONValue {
        .members([
            ("outlet", .string(backlog.name)), ("waiting", .int(backlog.count)),
            ("waitingIsCapped", .bool(backlog.count >= StoreStatus.most)), ("oldestAt", .instant(backlog.oldest)),
            ("perSecond", .optional(pace(of: backlog.name))), ("secondsLeft", .optional(secondsLeft(of: backlog))),
        ])
    }

    private static func planned(_ store: StoreStatus) -> JSONValue {
        .members([
            ("waiting", .int(store.planned.count)),
            ("waitingIsCapped", .bool(store.planned.count >= StoreStatus.most)),
            ("nextAt", .instant(store.planned.next)), ("overdue", .int(store.planned.overdue)),
        ])
    }

    private static func fanouts(_ fanouts: StoreStatus.Fanouts, hasWorker: Bool) -> JSONValue {
        .members([
            ("running", .int(fanouts.running)), ("paused", .int(fanouts.paused)),
            ("latest", .array(fanouts.latest.map { .members(FanoutAnswer($0, hasWorker: hasWorker).members) })),
        ])
    }

    private func breaker(_ breaker: OpenBreaker, in store: StoreStatus) -> JSONValue {
        let now = Timestamp(clamping: time.microseconds)
        let blocked = BlockedDeliveries(breaker, store.backlogs, store.holds, asOf: now)
        return .members([
            ("app", .string(breaker.key.app.text)), ("provider", .string(breaker.key.provider)),
            ("platform", .optional(breaker.key.platform?.rawValue)), ("reason", .string(breaker.reason)),
            ("openSince", .instant(breaker.openedAt)),
            ("nextProbeInSeconds", .int(Int(breaker.probeIn.components.seconds))),
            ("nextProbeAt", .string(blocked.nextProbe.description)), ("refusedProbes", .int(breaker.failures)),
            ("waiting", .int(blocked.waiting)), ("waitingIsCapped", .bool(blocked.isCapped)),
        ])
    }

    private static func deadLetters(_ store: StoreStatus) -> JSONValue {
        let groups = store.deadLetters.map { group in
            JSONValue.members([
                ("stage", .string(group.stage)), ("reason", .string(group.reason)), ("count", .int(group.count)),
                ("latestAt", .instant(group.latest)),
            ])
        }
        let total = store.deadLetters.map(\.count).reduce(0, +)
        return .members([
            ("open", .int(total)), ("openIsCapped", .bool(total >= StoreStatus.most)), ("groups", .array(groups)),
        ])
    }
}

extension JSONValue {
    /// Converts microseconds since 1970.
    fileprivate static func instant(_ microseconds: Int64?) -> JSONValue {
        microseconds.map { .string("\(Instant(microseconds: $0))") } ?? .null
    }
}
