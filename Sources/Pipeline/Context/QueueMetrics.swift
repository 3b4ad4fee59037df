import AMQP
import ServiceRuntime

/// How long what is taken has waited in its queue: AMQP does not say it of what still waits.
struct QueueMetrics: Sendable {
    private let age: Labelled<Gauge>

    init(_ registry: MetricsRegistry) {
        age = registry.gauge(
            "bellhop_queue_age_seconds",
            help: "Age of the oldest message just consumed; 0 if none was.",
            labels: ["queue"]
        )
    }

    /// Of messages that do not say when they were published nothing is known.
    ///
    /// `queues` are those that are served, by the names that stand in the metric.
    func took(_ messages: [IncomingMessage], from queues: [(queue: String, label: String)], now: Instant) {
        for (queue, label) in queues {
            let oldest = messages.lazy.filter { $0.queue == queue }.compactMap(\.publishedAt).min()
            let wait = oldest.flatMap { Int64(exactly: $0) }.map { now - Instant(seconds: $0) }
            age.with(label).set(max(0, wait?.secondsAsDouble ?? 0))
        }
    }
}
