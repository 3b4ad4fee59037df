import BellhopRules
package import ServiceRuntime
package import Settings
import Store

/// Measures dead letters for dashboards: the open ones, their ages and their replays.
package struct DeadLetterMetricsDuty: Service {
    package let name = "dead-letter meter"
    private let tools: SchedulerContext
    private let catalogs: CatalogSource
    private let loop: DutyLoop
    private let open: LabelledMetric<Gauge>
    private let oldest: Gauge
    private let replays: LabelledMetric<Gauge>
    private let outcomes: LabelledMetric<Gauge>

    package init(tools: SchedulerContext, catalogs: CatalogSource, interval: Duration = .seconds(15)) {
        self.tools = tools
        self.catalogs = catalogs
        loop = tools.meterLoop(of: name, every: interval, trouble: "cannot read dead-letter counts")
        open = tools.metrics.gauge(
            "bellhop_dead_letters_open",
            help: "Open dead letters, by app and reason, counted to 100000 of each; what no catalogue knows is other.",
            labels: ["app", "reason"]
        )
        oldest = tools.metrics.gauge(
            "bellhop_dead_letters_oldest_seconds",
            help: "Time since the first failure of the oldest open dead letter; 0 if none is open."
        )
        replays = tools.metrics.gauge(
            "bellhop_replays",
            help: "Replays that have not ended, by state: running, paused.",
            labels: ["state"]
        )
        outcomes = tools.metrics.gauge(
            "bellhop_replay_outcomes",
            help: "Items of replays started within the last day, by outcome.",
            labels: ["outcome"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var seen: Set<Label> = []
        await loop.run(until: drain) {
            let begin = tools.time.steady()
            try await measure(&seen)
            // The queries take at most a twentieth of the time, however slow the database is.
            return .after(max(loop.interval, (tools.time.steady() - begin) * 20))
        }
    }

    private struct Label: Hashable {
        let app: String
        let reason: String
    }

    private func measure(_ seen: inout Set<Label>) async throws(StoreError) {
        let found = try await DeadLetterStatistics(of: tools.pool, apps: Set(catalogs.current.catalogs.map(\.app)))
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
