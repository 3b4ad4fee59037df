package import ServiceRuntime

/// What a worker has done since it started, as it tells of itself: counters, and how long things took, of all apps together.
///
/// Whoever looks twice knows what was done between, without a system that collects metrics.
package struct WorkerFigures: Sendable {
    private let registry: MetricsRegistry

    package init(_ registry: MetricsRegistry) {
        self.registry = registry
    }

    /// One number for what is counted; for spans how many were at most as long as each of ``Histogram/secondBounds``, and all.
    package var current: [String: [Int]] {
        [
            "recorded": [total("bellhop_notifications_total", "recorded")],
            "delivered": [
                total("bellhop_deliveries_total", "delivered") + total("bellhop_deliveries_total", "accepted")
            ],
            "failed": [total("bellhop_deliveries_total", "failed")],
            "retrying": [total("bellhop_deliveries_total", "retrying")],
            "deadLettered": [total("bellhop_dead_lettered_total")],
            "stored": spans("bellhop_batch_seconds"),
            "pushed": spans("bellhop_push_seconds"),
        ]
    }

    /// Of all series, or of those with such a label.
    private func total(_ name: String, _ label: String? = nil) -> Int {
        let series = registry.series(of: name).filter { series in label.map(series.values.contains) ?? true }
        return Int(exactly: series.flatMap(\.samples).map(\.value).reduce(0, +).rounded()) ?? 0
    }

    private func spans(_ name: String) -> [Int] {
        var sums = [Int](repeating: 0, count: Histogram.secondBounds.count + 1)
        for series in registry.series(of: name) {
            let buckets = series.samples.filter { $0.bound != nil }
            for (place, bucket) in buckets.enumerated() where place < sums.count {
                sums[place] += Int(exactly: bucket.value.rounded()) ?? 0
            }
        }
        return sums
    }
}
