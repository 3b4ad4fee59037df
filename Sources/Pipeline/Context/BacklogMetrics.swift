import BellhopRules
import ServiceRuntime
import Store

/// The metrics of backlogs.
struct BacklogMetrics: Sendable {
    private let pulled: LabelledMetric<Counter>
    private let age: LabelledMetric<Gauge>

    init(_ registry: MetricsRegistry) {
        pulled = registry.counter(
            "bellhop_backlog_pulled_total",
            help: "Deliveries that were taken from their outlet's backlog because it had room.",
            labels: ["app", "provider"]
        )
        age = registry.gauge(
            "bellhop_backlog_age_seconds",
            help: "Age of the oldest delivery that waits for the outlet; 0 if none waits.",
            labels: ["app", "provider"]
        )
    }

    func count(pulled count: Int, from key: BacklogKey) {
        guard count > 0 else { return }
        pulled.with(key.app.text, key.provider).increment(by: count)
    }

    /// Notes the turns of the first deliveries, and the polled backlogs.
    func note(_ oldest: [BacklogKey: Timestamp], of keys: [BacklogKey], now: Timestamp) {
        var ages: [BacklogKey: Double] = [:]
        for key in keys {
            let outlet = BacklogKey(app: key.app, provider: key.provider)
            let waiting = oldest[key].map { Double(now.microseconds - $0.microseconds) / 1_000_000 } ?? 0
            ages[outlet] = max(waiting, ages[outlet] ?? 0)
        }
        for (outlet, seconds) in ages { age.with(outlet.app.text, outlet.provider).set(max(0, seconds)) }
    }
}
