import ServiceRuntime

/// The rate at which a worker pulls from a backlog, measured between two reports.
///
/// The first report after the first pull only begins an interval. A rate over less than ``shortest`` would be wrong by
/// the size of one pull, and the other workers have reported the backlog by the end of the first interval.
struct RateMeasurement: Sendable, Equatable {
    private var count = 0
    private var since: ContinuousClock.Instant
    private var isComplete = false
    /// The deliveries per second of the last interval; `nil` before its end.
    private(set) var rate: Int?
    /// Whether nothing was pulled in the last interval.
    private(set) var isIdle = false

    /// Begins with the first pull.
    init(from now: ContinuousClock.Instant) { since = now }

    /// The shortest interval that is measured; a report within it repeats the last rate.
    static let shortest = Duration.seconds(5)

    mutating func add(_ pulled: Int) { count += pulled }

    /// Ends an interval, if it is long enough.
    mutating func report(at now: ContinuousClock.Instant) {
        guard isComplete else {
            (isComplete, count, since) = (true, 0, now)
            return
        }
        let passed = now - since
        guard passed >= Self.shortest else { return }
        rate = Int((Double(count) / passed.secondsAsDouble).rounded())
        isIdle = count == 0
        (count, since) = (0, now)
    }
}
