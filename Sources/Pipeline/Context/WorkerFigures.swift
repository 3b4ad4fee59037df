package import ServiceRuntime

/// A worker's figures since its start, for its heartbeat: counters and durations, for all apps together.
///
/// The difference of two readings is the work between them, without a metrics system.
package struct WorkerFigures: Sendable {
    private let registry: MetricsRegistry

    package init(_ registry: MetricsRegistry) {
        self.registry = registry
    }

    /// The current figures: one number per counter.
    ///
    /// For durations, the numbers of values up to each of ``Histogram/secondBounds``, and of all values.
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

    /// Returns the sum of all series, or of those with the label.
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

/// Counts values that arrive in runs, such as the outcomes of a batch, with one dictionary access per run.
struct RunLengthCounter<Key: Hashable> {
    private var counts: [Key: Int] = [:]
    private var latest: (key: Key, run: Int)?

    mutating func add(_ key: Key, _ count: Int = 1) {
        if let latest, latest.key == key {
            self.latest?.run += count
        } else {
            endRun()
            latest = (key, count)
        }
    }

    /// Returns the counts.
    consuming func counted() -> [Key: Int] {
        endRun()
        return counts
    }

    private mutating func endRun() {
        guard let latest else { return }
        counts[latest.key, default: 0] += latest.run
        self.latest = nil
    }
}
