import BellhopRules
package import ServiceRuntime
package import Settings
import Store

/// Measures the age of the oldest open delivery for dashboards: of due deliveries, and of deliveries that wait for
/// their outlet.
///
/// The scheduler measures it, so that it is known even if no worker runs.
package struct BacklogAgeDuty: Service {
    package let name = "debt meter"
    private let tools: SchedulerContext
    private let catalogs: CatalogSource
    private let loop: DutyLoop
    private let overdue: LabelledMetric<Gauge>
    private let backlogs: LabelledMetric<Gauge>

    /// Measures once per minute: during a backup, the beginning of an index is full of dead entries.
    package init(tools: SchedulerContext, catalogs: CatalogSource, interval: Duration = .seconds(60)) {
        self.tools = tools
        self.catalogs = catalogs
        loop = tools.meterLoop(of: name, every: interval, trouble: "cannot read the age of pending deliveries")
        overdue = tools.metrics.gauge(
            "bellhop_owed_oldest_seconds",
            help: "Time since the oldest unreleased delivery was due, by lane; 0 if none is.",
            labels: ["lane"]
        )
        backlogs = tools.metrics.gauge(
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
        let found = try await BacklogAges(of: tools.pool)
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
