import BellhopRules
import Pipeline
import ServiceRuntime
import Store

extension Status {
    /// The problems, the most serious first, each as a sentence.
    package var problems: [String] { problemList.map(\.text) }

    /// The problems with their severity, the most serious first.
    ///
    /// Within a severity, causes come before their effects.
    package var problemList: [StatusProblem] {
        let broken =
            obstacles + clockProblems + setupProblems + irreplaceableSilentProcesses + idleProblems + fullQueues
        let degraded = readerProblems + silenceProblems + processProblems + almostFullQueues + delays
        let all =
            broken.asProblems(.broken) + refusals.asProblems(.broken, page: "providers")
            + otherSilentProcesses.asProblems(.broken)
            + (failures + rejections + endingDevices + recoveries).asProblems(.degraded, page: "providers")
            + degraded.asProblems(.degraded) + unfinished
            + brakes.asProblems(.onPurpose, page: "holds") + pausedFanouts
        return StatusProblem.Severity.allCases.flatMap { severity in all.filter { $0.severity == severity } }
    }

    private var obstacles: [String] {
        [
            broker.obstacle.map { obstacle in
                "the broker cannot be asked: \(obstacle). Stored events and deliveries are kept; producers cannot "
                    + "publish until it is back"
            },
            database.obstacle.map { obstacle in
                "the database cannot be asked: \(obstacle). No event is lost: workers hold the messages that they took, "
                    + "which are not counted here, and the others wait in their lanes; all continue automatically"
            },
        ].compactMap { $0 }
    }

    private var readerProblems: [String] {
        catalogObstacle.map { obstacle in
            let whose = "\(reader.rawValue)'s catalogues cannot be read"
            return ["\(whose), so the topology was not checked: \(Self.firstFault(obstacle))"]
        } ?? []
    }

    /// Problems with clocks.
    ///
    /// While clocks differ, nothing is deleted, planned or expired, but rows that were written with a wrong clock
    /// remain.
    private var clockProblems: [String] {
        var problems: [String] = []
        if let clock = database.value?.clock, clock.differs {
            problems.append("\(ClockWatch.words(clock.offset)): correct the wrong one, see docs/runbooks/clocks.md")
        }
        for ahead in database.value?.store?.retiredAhead ?? [] {
            problems.append(
                "retention has noted that \(ahead.kind) up to \(ahead.upTo) may be deleted, which is ahead of the clock: "
                    + "nothing older is replayed until it is set back, see docs/runbooks/clocks.md"
            )
        }
        return problems
    }

    private var setupProblems: [String] {
        var problems: [String] = []
        switch database.value?.schema {
        case .pending(let names):
            let others = names.count > 1 ? " and \(names.count - 1) more" : ""
            problems.append("the schema lacks \(names.first ?? "a migration")\(others): run bellhop migrate")
        case .diverged(let why): problems.append("the schema is not this program's: \(why)")
        case .current, .ahead, nil: break
        }
        if let differences = topologyDifferences, let first = differences.first {
            let others = differences.count > 1 ? " (and \(differences.count - 1) more: bellhop topology check)" : ""
            problems.append("the topology differs from the catalogues: \(first)\(others); \(topologyAdvice)")
        } else if topologyDifferences == nil, let missing = broker.value?.first(where: { $0.counts == nil }) {
            problems.append("queue \(missing.name) is missing: run bellhop topology apply")
        }
        return problems
    }

    /// Queues without consumers.
    ///
    /// Without the database no worker can start, and a scheduler does not consume its queue. In that case the status
    /// reports that the state is unknown, and not that a process is missing.
    private var idleProblems: [String] {
        guard let queues = broker.value else { return [] }
        let idle = queues.filter { $0.counts?.consumers == 0 }
        let lanes = idle.compactMap { queue -> (lane: Lane, ready: Int)? in
            if case .lane(let lane) = queue.purpose { (lane, queue.counts?.ready ?? 0) } else { nil }
        }
        let dead = idle.first { $0.purpose == .dead }
        if let silence = silenceOfConsumers {
            let waiting =
                Self.waiting(lanes.map(\.ready).reduce(0, +), "message")
                + Self.waiting(dead?.counts?.ready ?? 0, "dead letter")
            return [whyNothingIsSeen(silence, waiting)]
        }
        var problems: [String] = []
        if lanes.count == Lane.allCases.count {
            let waiting = Self.waiting(lanes.map(\.ready).reduce(0, +), "message")
            if !isReportedAsSilent("worker") { problems.append(whyNobodyTakes(waiting)) }
        } else {
            problems += lanes.map { whyNobodyServes($0.lane, Self.waiting($0.ready, "message")) }
        }
        if let dead, !isReportedAsSilent("scheduler") {
            let waiting = Self.waiting(dead.counts?.ready ?? 0, "dead letter")
            problems.append(whyNobodyFiles(waiting, worksSomebody: lanes.count < Lane.allCases.count))
        }
        return problems
    }

    /// The common silence of all processes, if no queue has a consumer and no process that would consume has been seen
    /// since.
    var silenceOfConsumers: CommonSilence? {
        let isSeen = processes.contains { ["worker", "scheduler"].contains($0.report.identity.role) }
        let isConsumed = broker.value?.contains { queue in
            switch queue.purpose {
            case .lane, .dead: queue.counts?.consumers != 0
            case .resume, .retry, .replay, .receipts: false
            }
        }
        return isSeen || isConsumed != false ? nil : commonSilence
    }

    /// Describes that the broker has no consumer and the database no heartbeat, which have one cause.
    private func whyNothingIsSeen(_ silence: CommonSilence, _ waiting: String) -> String {
        let heartbeats =
            switch silence {
            case .lasting(let time): "no process has written a heartbeat for \(time.roughly)"
            case .over(let time):
                "no worker or scheduler has written a heartbeat since a pause of all, which ended \(time.roughly) ago"
            }
        return "no queue has a consumer\(waiting), and \(heartbeats): workers and schedulers were killed, or cannot "
            + "reach the servers. Look again in ten seconds; if it stays, start them, see docs/runbooks/role-down.md"
    }

    private var fullQueues: [String] { (broker.value ?? []).filter(\.isFull).map(\.lengthProblem) }

    private var almostFullQueues: [String] { (broker.value ?? []).filter(\.isAlmostFull).map(\.lengthProblem) }

    /// Explains why no lane has a consumer: no worker runs, or the running ones are connecting.
    ///
    /// Workers that run reconnect automatically after an outage of the broker, so that another one would not help. A
    /// worker that was killed is among them until its heartbeat is old.
    private func whyNobodyTakes(_ waiting: String) -> String {
        let running = crews.filter { $0.role == "worker" && !$0.isDraining }
        guard !running.isEmpty else {
            return commonSilence == nil
                ? "no worker runs\(waiting): \(startingWorkers)\(poolAdvice)"
                : "no worker takes messages at present\(waiting), and \(notSeenYet("worker"))"
        }
        let count = running.map(\.count).reduce(0, +)
        let places = running.map(\.places).joined(separator: ", ")
        return "no worker takes messages at present\(waiting), although \(count.of("worker")) ran in the last half "
            + "minute (\(places)): if still running, they reconnect automatically; if not within a minute, see their logs"
    }

    /// Explains why one lane has no consumer while others have: no worker serves it, or its workers are connecting.
    private func whyNobodyServes(_ lane: Lane, _ waiting: String) -> String {
        let isServed = running("worker").contains { $0.servedLanes.contains(lane) }
        guard isServed else { return "no worker serves the \(lane) lane\(waiting): \(startingWorkers)" }
        return "no worker takes messages of the \(lane) lane at present\(waiting), although one that serves it ran in "
            + "the last half minute: if still running, it reconnects automatically; if not within a minute, see its log"
    }

    /// Explains why the dead-letter queue has no consumer: no scheduler runs, or a scheduler has stopped consuming it.
    ///
    /// A scheduler stops consuming while the database is unavailable and resumes afterwards. At that time no process
    /// has written a heartbeat yet, although workers serve the lanes.
    private func whyNobodyFiles(_ waiting: String, worksSomebody: Bool) -> String {
        guard isDatabaseSeen else {
            return "dead letters are not stored\(waiting): schedulers leave them in the queue while they have no "
                + "database, so whether one runs cannot be seen"
        }
        if let place = place(of: "scheduler") {
            return "dead letters are not stored\(waiting), although a scheduler ran in the last half minute, \(place): "
                + "if still running, it continues automatically when broker and database are back; if not within a "
                + "minute, see its log"
        }
        guard commonSilence != nil || crews.isEmpty && worksSomebody else {
            return "no scheduler runs\(waiting): start one"
        }
        return "dead letters are not stored\(waiting), and \(notSeenYet(crews.isEmpty ? "process" : "scheduler"))"
    }

    private func notSeenYet(_ role: String) -> String {
        "no \(role) has written a heartbeat yet, as after an outage of the database: look again in ten seconds"
    }

    private var startingWorkers: String {
        isDatabaseSeen ? "start one" : "none can start without the database"
    }

    /// A pool whose worker cannot start has no process that could report it.
    private var poolAdvice: String {
        isDatabaseSeen ? ", or read the log of the pool that should run it" : ""
    }

    private static func waiting(_ count: Int, _ what: String) -> String {
        count == 0 ? "" : ", \(counted(count, what, "waits", "wait"))"
    }

    /// Returns `1 message waits` or `2 messages wait`.
    private static func counted(_ count: Int, _ noun: String, _ one: String, _ many: String) -> String {
        let shown = count >= StoreStatus.most ? "\(count.grouped) or more" : count.grouped
        return count == 1 ? "1 \(noun) \(one)" : "\(shown) \(noun)s \(many)"
    }

    /// Open breakers.
    ///
    /// Deliveries wait behind each of them until the cause is corrected.
    private var refusals: [String] {
        guard let store = database.value?.store else { return [] }
        return store.breakers.map { breaker in
            let platform = breaker.key.platform.map { " (\($0.rawValue))" } ?? ""
            let whose = "\(breaker.key.provider) refuses \(breaker.key.app.text)\(platform)"
            let since = (time - Instant(microseconds: breaker.openedAt)).roughly
            let now = Timestamp(clamping: time.microseconds)
            let blocked = BlockedDeliveries(breaker, store.backlogs, store.holds, asOf: now)
            return "\(whose) for \(since), \(breaker.reason): \(blocked.words); see docs/runbooks/provider-refuses.md, "
                + "and \(blocked.command) tries now" + effectOfProbe(breaker, store.holds)
        }
    }

    /// Names the effect of a successful probe on the devices, unless a hold stops all probes; empty for other reasons.
    private func effectOfProbe(_ breaker: OpenBreaker, _ holds: [OperatorHold]) -> String {
        let (app, provider) = (breaker.key.app, breaker.key.provider)
        let isHeld = holds.contains { $0.scope.covers(app, provider: provider, type: nil) }
        guard breaker.reason == OpenBreaker.massDeath, !isHeld else { return "" }
        return
            ". After a try that succeeds, gone devices end for ten minutes: if our settings may be wrong, correct them "
            + "first; bellhop hold add --app \(app) --provider \(provider) stops the tries"
    }

    /// Active holds, which an operator may have forgotten.
    private var brakes: [String] {
        database.value?.store.map { store in HeldDeliveries.all(store).map(\.problem) } ?? []
    }

    /// Work that is late, and missing data.
    private var delays: [String] {
        var problems: [String] = []
        if let store = database.value?.store {
            if store.overdue > 0 {
                let late = store.overdue == 1 ? "1 delivery is" : "\(store.overdue.grouped) deliveries are"
                problems.append("\(late) overdue by more than 10 minutes: does a scheduler run?")
            }
            if store.planned.overdue > 0 {
                let late = Self.counted(store.planned.overdue, "planned event", "is", "are")
                problems.append(
                    "\(late) overdue by more than a minute: does a scheduler run, and does the broker confirm?"
                )
            }
            problems += store.fanouts.latest.filter(\.isStalled).map { progress in
                let since = progress.standstill?.roughly ?? "minutes"
                return "fan-out \(progress.record.number) of \(progress.record.app) has been stalled for \(since): "
                    + "bellhop fanouts show \(progress.record.number)"
            }
        }
        if let managementObstacle { problems.append(managementObstacle) }
        return problems + outboxProblems
    }

    /// The age of an outbox's oldest row from which it is a problem.
    private static let lateOutbox = 60.0

    private var outboxProblems: [String] {
        if let obstacle = outbox?.obstacle { return ["the outbox cannot be read: \(obstacle)"] }
        guard let lag = outbox?.value, lag.oldestAge >= Self.lateOutbox else { return [] }
        let rows = Self.counted(lag.rows, "row", "waits", "wait")
        return [
            "\(rows) in the outbox, the oldest for \(Duration.seconds(Int64(lag.oldestAge)).roughly): "
                + "does bellhop relay run? see docs/runbooks/outbox.md"
        ]
    }

    /// Work that waits for an operator.
    private var unfinished: [StatusProblem] {
        guard let store = database.value?.store else { return [] }
        let replays = store.pausedReplays.map { replay in
            let why = replay.reason.map { " (\($0))" } ?? ""
            let text =
                "replay \(replay.id) is paused\(why), \(Self.counted(replay.waiting, "item", "waits", "wait")): "
                + "bellhop dead-letters resume \(replay.id) continues it, cancel \(replay.id) reopens them"
            return StatusProblem(.toDo, text, page: "replays/\(replay.id)")
        }
        let open = store.deadLetters.map(\.count).reduce(0, +)
        guard open > 0 else { return replays }
        let letters = "\(open.of("open dead letter")), grouped by cause: bellhop dead-letters groups"
        return replays + [StatusProblem(.toDo, letters, page: "desk")]
    }

    /// Paused fan-outs, which an operator may have forgotten.
    private var pausedFanouts: [StatusProblem] {
        guard let store = database.value?.store else { return [] }
        let fanouts = store.fanouts
        let named = fanouts.latestPaused.map { progress in
            let record = progress.record
            let pausedAt = record.pausedAt ?? record.startedAt
            let since = Duration.microseconds(max(0, progress.asOf.microseconds - pausedAt.microseconds)).roughly
            let why = record.trouble.map { " (\($0))" } ?? ""
            let left =
                progress.leftIsCapped
                ? "more than \(progress.left.grouped) users are" : Self.counted(progress.left, "user", "is", "are")
            let hold = store.holds.first { $0.scope.isType(of: record) }
            let effect =
                hold.map { "\(record.number) --release continues it and releases hold \($0.number)" }
                ?? "\(record.number) continues it"
            let text =
                "fan-out \(record.number) of \(record.app), event \(record.event), has been paused for "
                + "\(since)\(why), \(left) left: bellhop fanouts resume \(effect), cancel \(record.number) ends it"
            return StatusProblem(.onPurpose, text, page: "fanouts/\(record.number)")
        }
        let others = fanouts.paused - named.count
        guard others > 0 else { return named }
        let text = "\(Self.counted(others, "other fan-out", "is", "are")) paused: bellhop fanouts list --state paused"
        return named + [StatusProblem(.onPurpose, text, page: "fanouts")]
    }
}
