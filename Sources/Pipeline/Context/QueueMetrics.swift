import AMQP
import ServiceRuntime

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
