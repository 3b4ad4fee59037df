import Synchronization

/// One time series, for one set of label values.
package protocol MetricCell: Sendable {
    /// Returns the samples for a scrape.
    func samples() -> [MetricSample]
}

/// One line of a scrape, without its metric's name and labels.
package struct MetricSample: Sendable, Equatable {
    let suffix: String
    /// The `le` label of a histogram's bucket.
    package let bound: String?
    package let value: Double

    init(suffix: String = "", bound: String? = nil, value: Double) {
        self.suffix = suffix
        self.bound = bound
        self.value = value
    }
}

/// The type of a metric, in Prometheus's terms.
package enum MetricKind: String, Sendable {
    case counter
    case gauge
    case histogram
}

/// A number that only grows, such as events consumed since the process started.
///
/// An increment is one atomic addition, which is cheap enough for every event.
package final class Counter: MetricCell {
    private let count = Atomic<Int>(0)

    init() {}

    package var value: Int { count.load(ordering: .relaxed) }

    /// Adds `amount`; a negative amount is ignored, because a counter never falls.
    package func increment(by amount: Int = 1) {
        guard amount > 0 else { return }
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    package func samples() -> [MetricSample] { [MetricSample(value: Double(value))] }
}

/// A number that rises and falls, such as the number of held messages.
package final class Gauge: MetricCell {
    /// The bits of a `Double`, for which there is no atomic type.
    private let bits = Atomic<UInt64>(0)

    init() {}

    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    package func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    package func add(_ amount: Double) {
        var seen = bits.load(ordering: .relaxed)
        while true {
            let sum = (Double(bitPattern: seen) + amount).bitPattern
            let (exchanged, original) = bits.compareExchange(expected: seen, desired: sum, ordering: .relaxed)
            if exchanged { return }
            seen = original
        }
    }

    package func samples() -> [MetricSample] { [MetricSample(value: value)] }
}

/// A distribution of values over fixed buckets, such as the seconds that a batch took.
package final class Histogram: MetricCell {
    private struct BucketCounts {
        var counts: [Int]
        var sum = 0.0
        var count = 0
    }

    /// Bounds in seconds for durations from a database round trip to a slow provider.
    package static let secondBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

    private let bounds: [Double]
    private let tally: Mutex<BucketCounts>

    init(bounds: [Double]) {
        self.bounds = bounds
        tally = Mutex(BucketCounts(counts: Array(repeating: 0, count: bounds.count)))
    }

    package var count: Int { tally.withLock { $0.count } }

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
