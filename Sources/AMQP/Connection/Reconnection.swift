import ServiceRuntime

extension Backoff {
    /// Between attempts at a connection or a subscription.
    static var ofBroker: Backoff { Backoff(base: .milliseconds(200), cap: .seconds(15)) }
}

/// Which host is tried next, and when.
///
/// The pauses grow for as long as attempts fail. A connection that got as far as its work starts them over where it lasted;
/// one that broke soon after makes them short, and not shortest: a broker that takes connections and drops them is not to be
/// stormed.
struct Reconnection {
    /// A connection that lasted this long was a sound one.
    private static let soundAfter = Duration.seconds(10)

    private let hosts: [BrokerAddress.Host]
    private var attempts = 0
    private var backoff = Backoff.ofBroker
    private var readySince: ContinuousClock.Instant?

    init(_ address: BrokerAddress) {
        hosts = address.hosts
    }

    /// The host of the next attempt, each in its turn.
    mutating func nextHost() -> BrokerAddress.Host {
        defer { attempts = (attempts + 1) % hosts.count }
        return hosts[attempts]
    }

    /// The connection does what it is for: it consumes, or can publish.
    mutating func ready(at now: ContinuousClock.Instant) {
        readySince = now
    }

    /// The pause after a failure.
    mutating func pause(at now: ContinuousClock.Instant, chance: Double) -> Duration {
        if let readySince {
            let wasSound = readySince.duration(to: now) >= Self.soundAfter
            if wasSound { backoff.reset() } else { backoff.ease(to: .milliseconds(800)) }
        }
        readySince = nil
        return backoff.next(chance: chance)
    }
}
