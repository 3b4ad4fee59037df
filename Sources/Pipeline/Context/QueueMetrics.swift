import AMQP
import BellhopRules
import ServiceRuntime
import Store

/// The waiting times of consumed messages.
///
/// AMQP does not provide the age of messages that still wait.
struct QueueMetrics: Sendable {
    private let age: LabelledMetric<Gauge>

    init(_ registry: MetricsRegistry) {
        age = registry.gauge(
            "bellhop_queue_age_seconds",
            help: "Age of the oldest message just consumed; 0 if none was.",
            labels: ["queue"]
        )
    }

    /// Notes the waiting time of the oldest message of each queue.
    ///
    /// Messages without a publication time are ignored.
    ///
    /// `queues` are the consumed queues with their labels in the metric.
    func took(_ messages: [IncomingMessage], from queues: [(queue: String, label: String)], now: Instant) {
        for (queue, label) in queues {
            let oldest = messages.lazy.filter { $0.queue == queue }.compactMap(\.publishedAt).min()
            let wait = oldest.flatMap { Int64(exactly: $0) }.map { now - Instant(seconds: $0) }
            age.with(label).set(max(0, wait?.secondsAsDouble ?? 0))
        }
    }
}

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
