/// How long to wait after the n-th failure in a row.
///
/// The ceiling doubles from 100 ms to 5 s (100, 200, 400, 800 ms, …), and the wait is a random half to whole of it, so
/// that workers which lost the same server do not come back in step.
struct Backoff: Sendable {
    private(set) var failures = 0

    private static let first = Duration.milliseconds(100)
    private static let ceiling = Duration.seconds(5)

    /// `chance` is a random number in 0..<1.
    mutating func next(chance: Double) -> Duration {
        let doubled = Self.first * (1 << min(failures, 10))
        failures += 1
        return min(doubled, Self.ceiling) * (0.5 + min(max(chance, 0), 1) / 2)
    }

    mutating func reset() {
        failures = 0
    }
}
