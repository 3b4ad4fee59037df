/// The keys of one URL, and the schedule of their fetches.
struct RemoteKeys: Sendable {
    var schedule: KeyFetchSchedule
    /// The latest keys, or `nil` before the first successful fetch; they stay active while the issuer is unavailable.
    private(set) var keys: TokenKeySet?
    private(set) var fetchedAt: ContinuousClock.Instant?

    init(at now: ContinuousClock.Instant) { schedule = KeyFetchSchedule(at: now) }

    /// Takes fetched keys, and returns whether they differ from the previous ones.
    ///
    /// The keys are compared, and not the document: the order and the form in which an issuer writes them may vary.
    mutating func take(_ fetched: FetchedKeys, chance: Double, at now: ContinuousClock.Instant) -> Bool {
        schedule.succeed(freshFor: fetched.freshFor, chance: chance, at: now)
        fetchedAt = now
        guard keys != fetched.keys else { return false }
        keys = fetched.keys
        return true
    }
}
