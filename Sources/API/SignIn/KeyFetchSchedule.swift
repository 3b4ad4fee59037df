import ServiceRuntime

/// Decides when the keys of one issuer are fetched.
struct KeyFetchSchedule: Sendable {
    /// The shortest time between two fetches because of unknown keys.
    static let interval = Duration.seconds(60)

    private(set) var dueAt: ContinuousClock.Instant
    private var begunAt: ContinuousClock.Instant?
    private var isInFlight = false
    private var backoff = Backoff(base: .seconds(10), cap: .seconds(300))

    /// Creates a schedule whose first fetch is due.
    init(at now: ContinuousClock.Instant) { dueAt = now }

    /// Begins a fetch if one is due.
    mutating func begin(at now: ContinuousClock.Instant) -> Bool {
        guard !isInFlight, dueAt <= now else { return false }
        isInFlight = true
        begunAt = now
        return true
    }

    /// Ends a fetch that brought keys.
    ///
    /// The next one is due up to a tenth earlier, so that many processes do not fetch at the same time.
    mutating func succeed(freshFor span: Duration, chance: Double, at now: ContinuousClock.Instant) {
        isInFlight = false
        backoff.reset()
        dueAt = now + span * (1 - 0.1 * min(max(chance, 0), 1))
    }

    /// Ends a fetch that failed, and returns the pause until the next one.
    mutating func fail(chance: Double, at now: ContinuousClock.Instant) -> Duration {
        isInFlight = false
        let pause = backoff.next(chance: chance)
        dueAt = now + pause
        return pause
    }

    /// Takes note of a token with an unknown key.
    ///
    /// It brings the next fetch forward, at most to a minute after the beginning of the latest one. Random names of keys
    /// therefore cost the issuer one request a minute.
    mutating func noteUnknownKey(at now: ContinuousClock.Instant) {
        let earliest = begunAt.map { max(now, $0 + Self.interval) } ?? now
        dueAt = min(dueAt, earliest)
    }
}
