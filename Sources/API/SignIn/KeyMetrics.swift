import ServiceRuntime

/// The metrics about token keys.
struct KeyMetrics: Sendable {
    private let registry: MetricsRegistry
    private let reads: LabelledMetric<Counter>
    private let fetches: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        self.registry = registry
        reads = registry.counter(
            "bellhop_token_key_reads_total",
            help: "Key sets that were read because their file had changed: accepted, or refused and the old ones kept.",
            labels: ["outcome"]
        )
        fetches = registry.counter(
            "bellhop_token_key_fetches_total",
            help: "Fetches of token keys by https: succeeded, or failed and the old ones kept.",
            labels: ["url", "outcome"]
        )
    }

    func read(_ outcome: String) { reads.with(outcome).increment() }

    func fetched(_ source: RemoteKeySource, _ outcome: String) { fetches.with(source.url, outcome).increment() }

    func readKeys(_ count: @escaping @Sendable () -> Double?) {
        registry.gauge("bellhop_token_keys", help: "Keys that tokens are checked with.", reading: count)
    }

    func readAges(_ ages: @escaping @Sendable () -> [String: Double]) {
        registry.callback(
            "bellhop_token_keys_age_seconds",
            .gauge,
            help: "Seconds since the latest successful fetch of token keys by https.",
            labels: ["url"]
        ) {
            ages().map { ([$0.key], $0.value) }
        }
    }
}
