package import ServiceRuntime

extension MetricsRegistry {
    /// The counter for all readers of preference documents: a worker that processes feed messages, and the API.
    package var preferenceFallbacks: LabelledMetric<Counter> {
        counter(
            "bellhop_preference_fallbacks_total",
            help: "Preference documents that had to be completed, clamped or trimmed.",
            labels: ["app"]
        )
    }
}
