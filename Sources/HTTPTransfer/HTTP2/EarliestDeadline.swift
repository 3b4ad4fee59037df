/// The earliest of several optional instants.
struct EarliestDeadline {
    private(set) var instant: ContinuousClock.Instant?

    init(_ instant: ContinuousClock.Instant? = nil) {
        self.instant = instant
    }

    mutating func consider(_ other: ContinuousClock.Instant?) {
        guard let other else { return }
        instant = instant.map { min($0, other) } ?? other
    }
}
