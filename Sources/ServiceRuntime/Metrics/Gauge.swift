import Synchronization

/// A number that rises and falls, such as the number of held messages.
package final class Gauge: MetricCell {
    /// The bits of a `Double`, for which there is no atomic type.
    private let bits = Atomic<UInt64>(0)

    init() {}

    package var value: Double {
        Double(bitPattern: bits.load(ordering: .relaxed))
    }

    package func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    package func add(_ amount: Double) {
        var seen = bits.load(ordering: .relaxed)
        while true {
            let sum = (Double(bitPattern: seen) + amount).bitPattern
            let (exchanged, original) = bits.compareExchange(expected: seen, desired: sum, ordering: .relaxed)
            if exchanged { return }
            seen = original
        }
    }

    package func samples() -> [MetricSample] {
        [MetricSample(value: value)]
    }
}
