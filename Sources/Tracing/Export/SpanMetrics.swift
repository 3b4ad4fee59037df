import ServiceRuntime

/// The counters of exported and lost spans.
struct SpanMetrics: Sendable {
    /// The reason for a loss.
    enum Loss: String {
        /// The queue was full.
        case full
        case refused
        case unreachable
    }

    private let taken: Counter
    private let dropped: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        taken = registry.counter("bellhop_spans_exported_total", help: "Spans that the collector took.")
        dropped = registry.counter(
            "bellhop_spans_dropped_total",
            help: "Spans that no collector got: no room was left, it refused them, or it could not be reached.",
            labels: ["reason"]
        )
    }

    func exported(_ count: Int, refused: Int) {
        taken.increment(by: max(0, count - refused))
        lost(min(refused, count), .refused)
    }

    func lost(_ count: Int, _ why: Loss) {
        guard count > 0 else { return }
        dropped.with(why.rawValue).increment(by: count)
    }
}
