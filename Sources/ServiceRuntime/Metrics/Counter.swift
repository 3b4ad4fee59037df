import Synchronization

/// A number that only grows, such as events consumed since the process started.
///
/// An increment is one atomic addition, which is cheap enough for every event.
package final class Counter: MetricCell {
    private let count = Atomic<Int>(0)

    init() {}

    package var value: Int {
        count.load(ordering: .relaxed)
    }

    /// Adds `amount`; a negative amount is ignored, because a counter never falls.
    package func increment(by amount: Int = 1) {
        guard amount > 0 else { return }
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    package func samples() -> [MetricSample] {
        [MetricSample(value: Double(value))]
    }
}
