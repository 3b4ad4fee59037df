/// Lets so many items through in a second, and no burst of what was not used.
struct ReplayThrottle: Sendable {
    private let rate: Int?
    private var credit = 0.0
    private var last: ContinuousClock.Instant

    /// `rate` is in items a second; nil for as many as are asked for.
    init(rate: Int?, now: ContinuousClock.Instant) {
        self.rate = rate
        last = now
    }

    /// How many of the items that are asked for may go now.
    mutating func grant(_ wanted: Int, now: ContinuousClock.Instant) -> Int {
        guard let rate else { return wanted }
        let passed = last.duration(to: now)
        last = now
        let seconds = Double(passed.components.seconds) + Double(passed.components.attoseconds) * 1e-18
        // One second's worth at most: after a pause it goes on at its rate, and does not catch up.
        credit = min(Double(rate), credit + seconds * Double(rate))
        let granted = max(0, min(wanted, Int(credit)))
        credit -= Double(granted)
        return granted
    }

    /// Takes back what was granted and not used.
    mutating func giveBack(_ unused: Int) {
        guard rate != nil, unused > 0 else { return }
        credit += Double(unused)
    }
}
