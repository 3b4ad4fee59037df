import Synchronization

/// A distribution of values over fixed buckets, such as the seconds that a batch took.
package final class Histogram: MetricCell {
    private struct Tally {
        var counts: [Int]
        var sum = 0.0
        var count = 0
    }

    /// Bounds in seconds for durations from a database round trip to a slow provider.
    package static let secondBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

    private let bounds: [Double]
    private let tally: Mutex<Tally>

    init(bounds: [Double]) {
        self.bounds = bounds
        tally = Mutex(Tally(counts: Array(repeating: 0, count: bounds.count)))
    }

    package var count: Int {
        tally.withLock { $0.count }
    }

    /// Counts `times` equal values together, for a batch; a value that is not a number is ignored.
    package func observe(_ value: Double, times: Int = 1) {
        guard !value.isNaN, times > 0 else { return }
        let bucket = bounds.firstIndex { value <= $0 }
        tally.withLock { tally in
            if let bucket { tally.counts[bucket] &+= times }
            tally.sum += value * Double(times)
            tally.count &+= times
        }
    }

    /// Counts a duration in seconds.
    package func observe(_ span: Duration, times: Int = 1) {
        observe(span.secondsAsDouble, times: times)
    }

    package func samples() -> [MetricSample] {
        let tally = tally.withLock { $0 }
        var below = 0
        var samples = zip(bounds, tally.counts).map { bound, count in
            below &+= count
            return MetricSample(suffix: "_bucket", bound: MetricText.number(bound), value: Double(below))
        }
        samples.append(MetricSample(suffix: "_bucket", bound: "+Inf", value: Double(tally.count)))
        samples.append(MetricSample(suffix: "_sum", value: tally.sum))
        samples.append(MetricSample(suffix: "_count", value: Double(tally.count)))
        return samples
    }
}
