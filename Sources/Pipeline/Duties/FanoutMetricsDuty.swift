import BellhopRules
package import ServiceRuntime
package import Settings
import Store

/// Measures fan-outs for dashboards: the numbers of running and paused ones, and the longest stall.
package struct FanoutMetricsDuty: Service {
    package let name = "fan-out meter"
    private let tools: SchedulerContext
    private let catalogs: CatalogSource
    private let loop: DutyLoop
    private let open: LabelledMetric<Gauge>
    private let standstill: LabelledMetric<Gauge>

    package init(tools: SchedulerContext, catalogs: CatalogSource, interval: Duration = .seconds(15)) {
        self.tools = tools
        self.catalogs = catalogs
        loop = tools.meterLoop(of: name, every: interval, trouble: "cannot read fan-outs")
        open = tools.metrics.gauge(
            "bellhop_fanouts",
            help: "Fan-outs that have not ended, by app and state: running, paused.",
            labels: ["app", "state"]
        )
        standstill = tools.metrics.gauge(
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
        let found = try await FanoutStatistics(of: tools.pool).groups
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
