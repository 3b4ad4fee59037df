import BellhopRules
package import ServiceRuntime
package import Settings
package import Store
import Synchronization

/// Watches the outages that workers report: logs the beginning and the end of each, measures them, and brings the
/// retries of a provider that works again forward.
///
/// Every scheduler measures; only the oldest scheduler logs and moves retries. If it ends, the next one continues,
/// because all follow the outages. A killed scheduler counts until its heartbeat is old: an outage that ends meanwhile
/// is remembered for that time.
package struct ProviderWatchDuty: Service {
    package let name = "provider watch"
    private let context: SchedulerContext
    private let process: String
    private let catalogs: CatalogSource
    private let loop: DutyLoop
    private let logger: Logger
    private let failing: LabelledMetric<Gauge>
    private let book: HeartbeatStore
    private let retries: RetryStore
    private let begun = Begun()

    /// The outages that have begun and not ended, for this process's heartbeat.
    package var outages: [ProviderOutage] { begun.outages.withLock { $0 } }

    /// The outages as other services see them.
    ///
    /// Thread safety: they are behind a lock.
    private final class Begun: Sendable {
        let outages = Mutex<[ProviderOutage]>([])
    }

    /// `process` is the id under which this process writes heartbeats.
    package init(
        context: SchedulerContext,
        process: String,
        catalogs: CatalogSource,
        interval: Duration = .seconds(5)
    ) {
        self.context = context
        self.process = process
        self.catalogs = catalogs
        loop = context.meterLoop(of: name, every: interval, trouble: "cannot read the reports about providers")
        logger = context.logger.labelled(name)
        book = HeartbeatStore(pool: context.pool)
        retries = RetryStore(pool: context.pool)
        failing = context.metrics.gauge(
            "bellhop_provider_failing",
            help: "1 while the provider accepts nothing from the app and no breaker is open, as status reports it.",
            labels: ["app", "provider"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var memory = Memory()
        await loop.run(until: drain) {
            try await look(&memory)
            return .later
        }
    }

    /// One app at one provider.
    private struct Place: Hashable {
        let app: String
        let provider: String
    }

    /// A walk through the retries of a provider that works again.
    private struct Walk {
        let outage: ProviderOutage
        /// Whether the outage was concluded from waiting retries, because it began before this process.
        let isInferred: Bool
        let endedAt: Timestamp
        var isReported = false
        var priorities = Priority.allCases[...]
        var begin: Timestamp?
        var moved = 0
    }

    /// The state that is kept between turns.
    private struct Memory {
        /// The outages that have not ended.
        var outages: [Place: ProviderOutage] = [:]
        /// All outlets that have had an outage, for the metric.
        var seen: Set<Place> = []
        var walks: [Place: Walk] = [:]
        /// Outlets with retries from before this process: their outage may have begun before it, too.
        var inferred: Set<Place> = []
        /// Whether retries from before this process were looked for.
        var hasInferred = false
    }

    private func look(_ memory: inout Memory) async throws(StoreError) {
        let processes = try await book.all()
        let now = context.time.timestamp
        let outages = ProviderOutage.combined(of: processes, at: now)
        let current = Dictionary(outages.map { (Place(app: $0.app, provider: $0.provider), $0) }) { first, _ in first }
        measure(current, &memory)
        let leads = leads(processes)
        if !memory.hasInferred { try await infer(&memory, at: now) }
        for (place, outage) in current {
            // An outage that lasts is reported by this process, too.
            if memory.inferred.remove(place) != nil { memory.outages[place] = nil }
            if memory.outages.updateValue(outage, forKey: place) == nil, leads { report(beginningOf: outage) }
            // A provider that fails again must not get more retries.
            memory.walks[place] = nil
        }
        let successes = processes.flatMap(\.report.takings)
        for (place, outage) in memory.outages where current[place] == nil {
            let isOver = successes.contains { success in
                success.app == place.app && success.provider == place.provider && success.at > outage.since
            }
            let isForgotten = now.microseconds - outage.latest.microseconds > Self.memory.microseconds
            guard isOver || isForgotten else { continue }
            let isInferred = memory.inferred.remove(place) != nil
            if isOver { memory.walks[place] = Walk(outage: outage, isInferred: isInferred, endedAt: now) }
            memory.outages[place] = nil
        }
        let seen = memory.outages.filter { !memory.inferred.contains($0.key) }.map(\.value)
        begun.outages.withLock { $0 = seen.sorted { ($0.app, $0.provider) < ($1.app, $1.provider) } }
        for (place, walk) in memory.walks {
            if leads {
                try await bringForward(place, &memory)
            } else if now.microseconds - walk.endedAt.microseconds > Self.succession.microseconds {
                memory.walks[place] = nil
            }
        }
    }

    /// Regards outlets with many retries as failing until a worker reports a success.
    ///
    /// A restart of all processes forgets the outages that they have seen, and its retries would wait for up to the
    /// longest tier although the provider works again.
    private func infer(_ memory: inout Memory, at now: Timestamp) async throws(StoreError) {
        for waiting in try await retries.waiting() where waiting.count >= Self.leastInferred {
            let place = Place(app: waiting.app, provider: waiting.provider)
            memory.inferred.insert(place)
            memory.outages[place] = ProviderOutage(
                app: waiting.app,
                provider: waiting.provider,
                word: "",
                since: now,
                latest: now,
                answers: 0
            )
        }
        memory.hasInferred = true
    }

    private func measure(_ current: [Place: ProviderOutage], _ memory: inout Memory) {
        let known = Set(catalogs.current.catalogs.map(\.app.text))
        memory.seen.formUnion(current.keys.filter { known.contains($0.app) })
        for place in memory.seen { failing.with(place.app, place.provider).set(current[place] == nil ? 0 : 1) }
    }

    /// Whether this scheduler acts: it is the oldest one, or none has written a heartbeat yet.
    private func leads(_ processes: [LiveProcess]) -> Bool {
        let schedulers = processes.filter { $0.report.identity.role == "scheduler" && !$0.report.isDraining }
        let first = schedulers.min { left, right in
            (left.startedAt, left.report.identity.id) < (right.startedAt, right.report.identity.id)
        }
        return first.map { $0.report.identity.id == process } ?? true
    }

    private func report(beginningOf outage: ProviderOutage) {
        logger.warning(
            "provider accepts nothing, its deliveries are retried",
            [
                "app": .text(outage.app), "provider": .text(outage.provider), "answer": .text(outage.word),
                "since": .text(outage.since.description), "answers": .integer(outage.answers),
            ]
        )
    }

    private func report(_ walk: Walk, _ place: Place) async throws(StoreError) {
        guard !walk.isInferred else {
            return logger.notice(
                "provider accepts deliveries, bringing the retries from before this start forward",
                ["app": .text(place.app), "provider": .text(place.provider)]
            )
        }
        let outage = walk.outage
        let waiting = try await retries.waiting().first { $0.app == place.app && $0.provider == place.provider }
        var fields: LogFields = [
            "app": .text(place.app), "provider": .text(place.provider),
            "failed": .span(.microseconds(max(0, walk.endedAt.microseconds - outage.since.microseconds))),
            "answers": .integer(outage.answers), "waiting": .integer(waiting?.count ?? 0),
        ]
        if let waiting { fields["last"] = .text(waiting.lastDue.description) }
        logger.notice("provider accepts deliveries again, bringing its retries forward", fields)
    }

    /// Brings the next retries of an outlet forward: those of one interval at the usual rate.
    private func bringForward(_ place: Place, _ memory: inout Memory) async throws(StoreError) {
        guard var walk = memory.walks[place], let app = AppID(validating: place.app) else { return }
        if !walk.isReported {
            try await report(walk, place)
            // After the report: if its query fails, the next turn repeats it.
            walk.isReported = true
            memory.walks[place] = walk
        }
        let quota = max(1, Int(loop.interval.microseconds / RetryPace.pause.microseconds))
        var moved = 0
        for _ in 0..<Self.stepsAtOnce where moved < quota {
            guard let priority = walk.priorities.first else { break }
            let step = try await retries.bringForward(
                app,
                place.provider,
                priority,
                from: walk.begin,
                atMost: quota,
                after: RetryPace.pause * moved,
                pausing: RetryPace.pause
            )
            moved += step.moved
            walk.begin = step.next
            if step.next == nil { walk.priorities.removeFirst() }
        }
        walk.moved += moved
        memory.walks[place] = walk.priorities.isEmpty ? nil : walk
        guard walk.priorities.isEmpty else { return }
        if walk.moved > 0 {
            logger.info(
                "retries were brought forward",
                ["app": .text(place.app), "provider": .text(place.provider), "deliveries": .integer(walk.moved)]
            )
        }
    }

    /// Longer than a killed scheduler counts, which is half a minute.
    private static let succession = Duration.seconds(60)
    /// Fewer retries may have failed for separate reasons.
    private static let leastInferred = 10
    /// Longer than a delivery usually waits in a retry tier, so that its next failure belongs to the same outage.
    private static let memory = Duration.seconds(7_200)
    /// Limits a turn if most of the open deliveries are other outlets'.
    private static let stepsAtOnce = 20
}

/// The rate at which retries are brought forward.
package enum RetryPace {
    /// The time between two users: 200 users per second.
    package static let pause = Duration.milliseconds(5)
}
