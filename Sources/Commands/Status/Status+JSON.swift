import BellhopRules
import CLI
import ServiceRuntime
import Store

extension Status {
    /// The status as one object.
    ///
    /// Its names are stable, and unavailable values are null.
    var json: JSONText {
        .object(basics + traffic + tables(database.value?.store))
    }

    private var basics: [(String, JSONText)] {
        let topology = topologyDifferences.map { $0.isEmpty ? "current" : "differs" }
        return [
            ("namespace", .text(namespace.name)),
            ("at", .text("\(time)")),
            ("problems", .list(problems.map(JSONText.text))),
            ("broker", Self.reached(broker)),
            ("database", Self.reached(database)),
            ("schema", .optional(schemaWord)),
            ("topology", .optional(topology)),
            ("topologyDifferences", topologyDifferences.map { .list($0.map(JSONText.text)) } ?? .null),
        ]
    }

    private var traffic: [(String, JSONText)] {
        let workers = Lane.allCases.map { lane -> (String, JSONText) in
            (lane.rawValue, .optional(queue(.lane(lane))?.counts?.consumers))
        }
        return [
            ("workers", .object(workers)),
            ("schedulers", .optional(schedulers)),
            ("lanes", list { if case .lane(let lane) = $0 { ("lane", .text(lane.rawValue)) } else { nil } }),
            ("resumes", list { if case .resume(let lane) = $0 { ("lane", .text(lane.rawValue)) } else { nil } }),
            ("retries", list { if case .retry(let tier) = $0 { ("tier", .text(tier.name)) } else { nil } }),
            ("deadLetterQueue", queue(.dead).map { json($0) } ?? .null),
            ("replayQueue", queue(.replay).map { json($0) } ?? .null),
            ("receiptQueue", queue(.receipts).map { json($0) } ?? .null),
        ]
    }

    private func tables(_ store: StoreStatus?) -> [(String, JSONText)] {
        [
            ("deliveries", store.map(Self.deliveries) ?? .null),
            ("backlogs", store.map { .list($0.backlogs.map(backlog)) } ?? .null),
            ("plannedEvents", store.map(Self.planned) ?? .null),
            ("fanouts", store.map { Self.fanouts($0.fanouts) } ?? .null),
            ("deadLetters", store.map(Self.deadLetters) ?? .null),
            ("breakers", store.map { .list($0.breakers.map(Self.breaker)) } ?? .null),
            ("failingProviders", store.map { _ in troublesJSON } ?? .null),
            ("catalogs", .optional(catalogs)), ("processes", store.map { _ in processesJSON } ?? .null),
            (
                "pausedReplays",
                store.map { store in
                    .list(
                        store.pausedReplays.map { replay in
                            .object([
                                ("replay", .number(Int(clamping: replay.id))), ("waiting", .number(replay.waiting)),
                                ("reason", .optional(replay.reason)),
                            ])
                        }
                    )
                } ?? .null
            ),
            ("holds", store.map { store in .list(HoldView.all(store).map(\.json)) } ?? .null),
        ]
    }

    /// The state of the schema in one word, for both forms.
    var schemaWord: String? {
        switch database.value?.schema {
        case .current: "current"
        case .pending: "pending"
        case .ahead: "ahead"
        case .diverged: "diverged"
        case nil: nil
        }
    }

    private static func reached<Value>(_ sight: Observed<Value>) -> JSONText {
        .object([("reached", .flag(sight.obstacle == nil)), ("error", .optional(sight.obstacle))])
    }

    /// Returns the queues of one purpose, each with the member that identifies it.
    private func list(_ member: (QueueStatus.Purpose) -> (String, JSONText)?) -> JSONText {
        guard let queues = broker.value else { return .null }
        return .list(queues.compactMap { queue in member(queue.purpose).map { json(queue, [$0]) } })
    }

    private func json(_ queue: QueueStatus, _ members: [(String, JSONText)] = []) -> JSONText {
        .object(
            members + [
                ("queue", .text(queue.name)), ("ready", .optional(queue.counts?.ready)),
                ("unacked", .optional(queue.counts?.unacked)),
                ("oldestAgeSeconds", .optional(age(queue).map { Int($0.components.seconds) })),
                ("consumers", .optional(queue.counts?.consumers)),
            ]
        )
    }

    /// Returns the age of a queue's oldest message.
    ///
    /// It is never negative, even if the sender's clock is ahead.
    func age(_ queue: QueueStatus) -> Duration? {
        queue.counts?.oldestSent.map { max(.zero, time - Instant(microseconds: $0)) }
    }

    private static func deliveries(_ store: StoreStatus) -> JSONText {
        let groups = store.owed.map { group in
            JSONText.object([
                ("state", .text(group.state)), ("reason", .optional(group.reason)), ("count", .number(group.count)),
                ("oldestDueAt", .text("\(Instant(microseconds: group.oldestDue))")),
            ])
        }
        let total = store.owed.map(\.count).reduce(0, +)
        let oldest = store.owed.map(\.oldestDue).min()
        return .object([
            ("owed", .number(total)), ("owedIsCapped", .flag(total >= StoreStatus.most)),
            ("overdue", .number(store.overdue)), ("oldestDueAt", .instant(oldest)), ("groups", .list(groups)),
        ])
    }

    private func backlog(_ backlog: StoreStatus.Backlog) -> JSONText {
        .object([
            ("outlet", .text(backlog.name)), ("waiting", .number(backlog.count)),
            ("waitingIsCapped", .flag(backlog.count >= StoreStatus.most)), ("oldestAt", .instant(backlog.oldest)),
            ("perSecond", .optional(pace(of: backlog.name))),
        ])
    }

    private static func planned(_ store: StoreStatus) -> JSONText {
        .object([
            ("waiting", .number(store.planned.count)),
            ("waitingIsCapped", .flag(store.planned.count >= StoreStatus.most)),
            ("nextAt", .instant(store.planned.next)), ("overdue", .number(store.planned.overdue)),
        ])
    }

    private static func fanouts(_ fanouts: StoreStatus.Fanouts) -> JSONText {
        .object([
            ("running", .number(fanouts.running)), ("paused", .number(fanouts.paused)),
            ("latest", .list(fanouts.latest.map { .object(FanoutView($0).members) })),
        ])
    }

    private static func breaker(_ breaker: OpenBreaker) -> JSONText {
        .object([
            ("app", .text(breaker.key.app.text)), ("provider", .text(breaker.key.provider)),
            ("platform", .optional(breaker.key.platform?.rawValue)), ("reason", .text(breaker.reason)),
            ("openSince", .instant(breaker.openedAt)),
            ("nextProbeInSeconds", .number(Int(breaker.probeIn.components.seconds))),
            ("refusedProbes", .number(breaker.failures)),
        ])
    }

    private static func deadLetters(_ store: StoreStatus) -> JSONText {
        let groups = store.deadLetters.map { group in
            JSONText.object([
                ("stage", .text(group.stage)), ("reason", .text(group.reason)), ("count", .number(group.count)),
                ("latestAt", .instant(group.latest)),
            ])
        }
        let total = store.deadLetters.map(\.count).reduce(0, +)
        return .object([
            ("open", .number(total)), ("openIsCapped", .flag(total >= StoreStatus.most)), ("groups", .list(groups)),
        ])
    }
}

extension JSONText {
    fileprivate static func optional(_ number: Int?) -> JSONText { number.map(JSONText.number) ?? .null }

    /// Converts microseconds since 1970.
    fileprivate static func instant(_ microseconds: Int64?) -> JSONText {
        microseconds.map { .text("\(Instant(microseconds: $0))") } ?? .null
    }
}
