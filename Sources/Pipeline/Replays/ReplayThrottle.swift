/// Limits items per second, without a burst of unused capacity.
struct ReplayThrottle: Sendable {
    /// Items per second, which an operator may change while the replay runs; `nil` means unlimited.
    var rate: Int?
    private var credit = 0.0
    private var last: ContinuousClock.Instant

    /// Limits to `rate` items per second; `nil` means unlimited.
    init(rate: Int?, now: ContinuousClock.Instant) {
        self.rate = rate
        last = now
    }

    /// Returns the number of the requested items that may be sent now.
    mutating func grant(_ wanted: Int, now: ContinuousClock.Instant) -> Int {
        guard let rate else { return wanted }
        let passed = last.duration(to: now)
        last = now
        let seconds = Double(passed.components.seconds) + Double(passed.components.attoseconds) * 1e-18
        // At most one second's worth: after a pause, it continues at its rate and does not catch up.
        credit = min(Double(rate), credit + seconds * Double(rate))
        let granted = max(0, min(wanted, Int(credit)))
        credit -= Double(granted)
        return granted
    }

    /// Returns unused items to the credit.
    mutating func giveBack(_ unused: Int) {
        guard rate != nil, unused > 0 else { return }
        credit += Double(unused)
    }
}
