import ServiceRuntime
import Synchronization

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

    init(_ address: BrokerAddress) { hosts = address.hosts }

    /// Returns the host of the next attempt; the hosts take turns.
    mutating func nextHost() -> BrokerAddress.Host {
        defer { attempts = (attempts + 1) % hosts.count }
        return hosts[attempts]
    }

    /// Records that the connection consumes or can publish.
    mutating func ready(at now: ContinuousClock.Instant) { readySince = now }

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

/// Shares the broker's return among the connections of one process.
///
/// Each connection pauses separately between its attempts, and the pauses grow. Without this exchange, one connection
/// could return immediately and the next a quarter of a minute later.
///
/// Thread safety: one lock protects all state; threads are woken outside the lock.
package final class BrokerAvailability: Sendable {
    private struct State {
        var returns: UInt64 = 0
        var resting: [ObjectIdentifier: Waker] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of times that a connection has come up.
    var returns: UInt64 { state.withLock { $0.returns } }

    /// Reports that a connection is up and ready for messages, and wakes the waiting ones to try again.
    func returned() {
        let resting = state.withLock { state in
            state.returns += 1
            return Array(state.resting.values)
        }
        for waker in resting { waker.wake() }
    }

    /// Wakes this thread when another connection returns, until ``leave(_:)``.
    func rest(_ waker: Waker) { state.withLock { $0.resting[ObjectIdentifier(waker)] = waker } }

    func leave(_ waker: Waker) {
        _ = state.withLock { $0.resting.removeValue(forKey: ObjectIdentifier(waker)) }
    }
}

/// A pause that ends early, but not immediately, if another connection returns.
///
/// Otherwise, connections that come up and break again could wake each other endlessly.
struct ReconnectPause {
    /// The minimum pause, even if another connection returns sooner.
    static let shortest = Duration.milliseconds(500)

    private let start: ContinuousClock.Instant
    private let duration: Duration
    private let presence: BrokerAvailability
    private let returns: UInt64

    init(_ duration: Duration, _ presence: BrokerAvailability, at now: ContinuousClock.Instant) {
        start = now
        self.duration = duration
        self.presence = presence
        returns = presence.returns
    }

    /// Returns the remaining part of the pause.
    func left(at now: ContinuousClock.Instant) -> Duration {
        let whole = presence.returns == returns ? duration : min(duration, Self.shortest)
        return max(.zero, now.duration(to: start + whole))
    }
}
