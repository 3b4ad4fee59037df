import ServiceRuntime

extension Backoff {
    /// The pauses between attempts at a connection or a subscription.
    static var ofBroker: Backoff { Backoff(base: .milliseconds(200), cap: .seconds(15)) }
}

/// Chooses the host and the time of the next attempt.
///
/// The pauses grow while attempts fail. After a connection that did its work for some time, they start again at the
/// minimum. After one that broke soon, they become short but not minimal, so that a broker which accepts and drops
/// connections is not flooded.
struct Reconnection {
    /// The duration after which a connection counts as stable.
    private static let soundAfter = Duration.seconds(10)

    private let hosts: [BrokerAddress.Host]
    private var attempts = 0
    private var backoff = Backoff.ofBroker
    private var readySince: ContinuousClock.Instant?

    init(_ address: BrokerAddress) {
        hosts = address.hosts
    }

    /// Returns the host of the next attempt; the hosts take turns.
    mutating func nextHost() -> BrokerAddress.Host {
        defer { attempts = (attempts + 1) % hosts.count }
        return hosts[attempts]
    }

    /// Records that the connection consumes or can publish.
    mutating func ready(at now: ContinuousClock.Instant) {
        readySince = now
    }

    /// Returns the pause after a failure.
    mutating func pause(at now: ContinuousClock.Instant, chance: Double) -> Duration {
        if let readySince {
            let wasSound = readySince.duration(to: now) >= Self.soundAfter
            if wasSound { backoff.reset() } else { backoff.ease(to: .milliseconds(800)) }
        }
        readySince = nil
        return backoff.next(chance: chance)
    }
}
