/// The pauses between attempts: 0.2 s, 0.4 s, 0.8 s, … 15 s, each shortened by up to half at random, so that a pool of
/// workers does not come back in step.
struct Backoff {
    static let shortest = Duration.milliseconds(200)
    static let longest = Duration.seconds(15)

    private var failures = 0

    /// The next pause; `chance` is a random number from 0 up to 1.
    mutating func next(chance: Double) -> Duration {
        // 2 to the 7th is past the longest pause already.
        let doubled = Self.shortest * (1 << min(failures, 7))
        failures = min(failures + 1, 8)
        return min(doubled, Self.longest) * (1 - 0.5 * min(max(chance, 0), 1))
    }

    mutating func reset() {
        failures = 0
    }

    /// Brings the next pause down to 0.8 s at most.
    mutating func ease() {
        failures = min(failures, 2)
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, so that a wait is never cut to a busy loop of zeros.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int(clamping: seconds.multipliedReportingOverflow(by: 1000).partialValue &+ fraction)
    }
}
