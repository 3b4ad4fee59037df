import BellhopRules
package import ServiceRuntime
package import Settings
import Store

/// Measures dead letters for dashboards: the open ones, their ages and their replays.
package struct DeadLetterMetricsDuty: Service {
    package let name = "dead-letter meter"
    private let context: SchedulerContext
    private let catalogs: CatalogSource
    private let loop: DutyLoop
    private let open: LabelledMetric<Gauge>
    private let oldest: Gauge
    private let replays: LabelledMetric<Gauge>
    private let outcomes: LabelledMetric<Gauge>

    package init(context: SchedulerContext, catalogs: CatalogSource, interval: Duration = .seconds(15)) {
        self.context = context
        self.catalogs = catalogs
        loop = context.meterLoop(of: name, every: interval, trouble: "cannot read dead-letter counts")
        open = context.metrics.gauge(
            "bellhop_dead_letters_open",
            help: "Open dead letters, by app and reason, counted to 100000 of each; what no catalogue knows is other.",
            labels: ["app", "reason"]
        )
        oldest = context.metrics.gauge(
            "bellhop_dead_letters_oldest_seconds",
            help: "Time since the first failure of the oldest open dead letter; 0 if none is open."
        )
        replays = context.metrics.gauge(
            "bellhop_replays",
            help: "Replays that have not ended, by state: running, paused.",
            labels: ["state"]
        )
        outcomes = context.metrics.gauge(
            "bellhop_replay_outcomes",
            help: "Items of replays started within the last day, by outcome.",
            labels: ["outcome"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var seen: Set<Label> = []
        await loop.run(until: drain) {
            let begin = context.time.steady()
            try await measure(&seen)
            // The queries take at most a twentieth of the time, however slow the database is.
            return .after(max(loop.interval, (context.time.steady() - begin) * 20))
        }
    }

    private struct Label: Hashable {
        let app: String
        let reason: String
    }

    private func measure(_ seen: inout Set<Label>) async throws(StoreError) {
        let found = try await DeadLetterStatistics(of: context.pool, apps: Set(catalogs.current.catalogs.map(\.app)))
        var counts: [Label: Int] = [:]
        for group in found.open { counts[label(group), default: 0] += group.items }
        // A group that is no longer open has the value zero, not its previous value.
        for label in seen.union(counts.keys) {
            open.with(label.app, label.reason).set(Double(counts[label] ?? 0))
        }
        seen.formUnion(counts.keys)
        oldest.set(max(0, found.oldestAge ?? 0))
        replays.with("running").set(Double(found.replaysRunning))
        replays.with("paused").set(Double(found.replaysPaused))
        for outcome in ReplayOutcome.allCases {
            outcomes.with(outcome.rawValue).set(Double(found.outcomes[outcome] ?? 0))
        }
    }

    /// Returns the labels of a group.
    ///
    /// Both values may be a producer's text in a message that was rejected because of them.
    private func label(_ group: DeadLetterStatistics.Open) -> Label {
        Label(
            app: group.app?.text ?? "other",
            reason: DeadLetterCause.knownReasons.contains(group.reason) ? group.reason : "other"
        )
    }
}

/// Measures fan-outs for dashboards: the numbers of running and paused ones, and the longest stall.
package struct FanoutMetricsDuty: Service {
    package let name = "fan-out meter"
    private let context: SchedulerContext
    private let catalogs: CatalogSource
    private let loop: DutyLoop
    private let open: LabelledMetric<Gauge>
    private let standstill: LabelledMetric<Gauge>

    package init(context: SchedulerContext, catalogs: CatalogSource, interval: Duration = .seconds(15)) {
        self.context = context
        self.catalogs = catalogs
        loop = context.meterLoop(of: name, every: interval, trouble: "cannot read fan-outs")
        open = context.metrics.gauge(
            "bellhop_fanouts",
            help: "Fan-outs that have not ended, by app and state: running, paused.",
            labels: ["app", "state"]
        )
        standstill = context.metrics.gauge(
            "bellhop_fanout_standstill_seconds",
            help: "Longest time since a running fan-out completed a page or started, by app.",
            labels: ["app"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var seen: Set<String> = []
        await loop.run(until: drain) {
            try await measure(&seen)
            return .later
        }
    }

    private func measure(_ seen: inout Set<String>) async throws(StoreError) {
        let known = Set(catalogs.current.catalogs.map(\.app.text))
        let found = try await FanoutStatistics(of: context.pool).groups
        let groups = found.map { ($0, known.contains($0.app) ? $0.app : "other") }
        // A fan-out that has ended counts as zero, not with its previous value.
        seen.formUnion(groups.map(\.1))
        for app in seen {
            for state in FanoutState.open {
                let count = groups.filter { $0.1 == app && $0.0.state == state }.map(\.0.count).reduce(0, +)
                open.with(app, state.rawValue).set(Double(count))
            }
            standstill.with(app).set(groups.filter { $0.1 == app }.map(\.0.standstill).max() ?? 0)
        }
    }
}

/// Measures the age of the oldest open delivery for dashboards: of due deliveries, and of deliveries that wait for
/// their outlet.
///
/// The scheduler measures it, so that it is known even if no worker runs.
package struct BacklogAgeDuty: Service {
    package let name = "debt meter"
    private let context: SchedulerContext
    private let catalogs: CatalogSource
    private let loop: DutyLoop
    private let overdue: LabelledMetric<Gauge>
    private let backlogs: LabelledMetric<Gauge>

    /// Measures once per minute: during a backup, the beginning of an index is full of dead entries.
    package init(context: SchedulerContext, catalogs: CatalogSource, interval: Duration = .seconds(60)) {
        self.context = context
        self.catalogs = catalogs
        loop = context.meterLoop(of: name, every: interval, trouble: "cannot read the age of pending deliveries")
        overdue = context.metrics.gauge(
            "bellhop_owed_oldest_seconds",
            help: "Time since the oldest unreleased delivery was due, by lane; 0 if none is.",
            labels: ["lane"]
        )
        backlogs = context.metrics.gauge(
            "bellhop_backlog_oldest_seconds",
            help: "Since the oldest delivery was recorded that waits for the outlet; 0 where none does.",
            labels: ["app", "provider"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var seen: Set<Labels> = []
        await loop.run(until: drain) {
            try await measure(&seen)
            return .later
        }
    }

    private struct Labels: Hashable {
        let app: String
        let provider: String
    }

    private func measure(_ seen: inout Set<Labels>) async throws(StoreError) {
        let found = try await BacklogAges(of: context.pool)
        for priority in Priority.allCases {
            overdue.with(priority.lane.rawValue).set(found.overdue[priority] ?? 0)
        }
        let known = Set(catalogs.current.catalogs.map(\.app))
        var ages: [Labels: Double] = [:]
        for backlog in found.backlogs {
            guard let part = OutletScope(backlog.name), known.contains(part.app) else { continue }
            let outlet = Labels(app: part.app.text, provider: part.provider)
            ages[outlet] = max(backlog.age, ages[outlet] ?? 0)
        }
        // A backlog that is empty now has the value zero, not its previous value.
        for outlet in seen.union(ages.keys) { backlogs.with(outlet.app, outlet.provider).set(ages[outlet] ?? 0) }
        seen.formUnion(ages.keys)
    }
}
