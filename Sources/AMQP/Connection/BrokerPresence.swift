import ServiceRuntime
import Synchronization

/// What the connections of one process tell one another of their broker: when it is there again.
///
/// Each of them pauses by itself between its attempts, for longer and longer. Without a word from the others, one would be
/// back at once and the next a quarter of a minute later.
///
/// Thread safety: all state is behind one lock; threads are woken outside of it.
package final class BrokerPresence: Sendable {
    private struct State {
        var returns: UInt64 = 0
        var resting: [ObjectIdentifier: Waker] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// How often a connection has come up.
    var returns: UInt64 { state.withLock { $0.returns } }

    /// One is up and ready for messages: those that rest try again.
    func returned() {
        let resting = state.withLock { state in
            state.returns += 1
            return Array(state.resting.values)
        }
        for waker in resting { waker.wake() }
    }

    /// Wakes this thread when another returns, until ``leave(_:)``.
    func rest(_ waker: Waker) {
        state.withLock { $0.resting[ObjectIdentifier(waker)] = waker }
    }

    func leave(_ waker: Waker) {
        _ = state.withLock { $0.resting.removeValue(forKey: ObjectIdentifier(waker)) }
    }
}

/// A pause that ends early when another connection returns, but not at once: connections that come up and break again must
/// not call one another without end.
struct Rest {
    /// However soon another is back.
    static let shortest = Duration.milliseconds(500)

    private let start: ContinuousClock.Instant
    private let duration: Duration
    private let presence: BrokerPresence
    private let returns: UInt64

    init(_ duration: Duration, _ presence: BrokerPresence, at now: ContinuousClock.Instant) {
        start = now
        self.duration = duration
        self.presence = presence
        returns = presence.returns
    }

    /// How much of it is left.
    func left(at now: ContinuousClock.Instant) -> Duration {
        let whole = presence.returns == returns ? duration : min(duration, Self.shortest)
        return max(.zero, now.duration(to: start + whole))
    }
}
