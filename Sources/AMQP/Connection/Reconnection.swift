/// Which host is tried next, and when.
struct Reconnection {
    /// A connection that lasted this long was a sound one: the pauses start over after it.
    private static let soundAfter = Duration.seconds(10)

    private let hosts: [BrokerAddress.Host]
    private var attempts = 0
    private var backoff = Backoff()
    private var connectedSince: ContinuousClock.Instant?

    init(_ address: BrokerAddress) {
        hosts = address.hosts
    }

    /// The host of the next attempt, each in its turn.
    mutating func nextHost() -> BrokerAddress.Host {
        defer { attempts = (attempts + 1) % hosts.count }
        return hosts[attempts]
    }

    mutating func connected(at now: ContinuousClock.Instant) {
        connectedSince = now
    }

    /// The pause after a failure.
    mutating func pause(at now: ContinuousClock.Instant, chance: Double) -> Duration {
        if let connectedSince, connectedSince.duration(to: now) >= Self.soundAfter { backoff.reset() }
        connectedSince = nil
        return backoff.next(chance: chance)
    }
}
