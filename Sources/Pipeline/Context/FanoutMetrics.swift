import BellhopRules
import ServiceRuntime
import Store

/// A worker's metrics of fan-outs.
struct FanoutMetrics: Sendable {
    private let pages: LabelledMetric<Counter>
    private let users: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        pages = registry.counter(
            "bellhop_fanout_pages_total",
            help: "Fan-out pages completed.",
            labels: ["app"]
        )
        users = registry.counter(
            "bellhop_fanout_users_total",
            help: "Users reached by completed fan-out pages.",
            labels: ["app"]
        )
    }

    func count(_ tally: PageCounts, _ app: AppID) {
        pages.with(app.text).increment()
        users.with(app.text).increment(by: tally.users)
    }
}
