import HTTPServer
import ServiceRuntime
import Synchronization

/// Limits failed sign-ins from one address, and from all addresses together.
///
/// Tokens are too long to be guessed. The limit protects the log and the processor from a guesser.
final class AttemptLimiter: Sendable {
    /// A bucket that gains one attempt every `pause`, up to `burst`.
    struct Bucket: Sendable {
        let burst: Double
        let pause: Duration
    }

    private struct Level {
        var left: Double
        var at: ContinuousClock.Instant
    }

    private struct State {
        var addresses: [PeerAddress: Level] = [:]
        var all: Level?
    }

    private let address = Bucket(burst: 10, pause: .seconds(30))
    private let all = Bucket(burst: 200, pause: .seconds(1))
    private let capacity = 10_000
    private let state = Mutex(State())

    /// Whether another attempt is allowed now.
    func mayTry(_ peer: PeerAddress?, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            let own = peer.flatMap { state.addresses[$0] }.map { Self.filled($0, address, now).left } ?? address.burst
            let whole = state.all.map { Self.filled($0, all, now).left } ?? all.burst
            return own >= 1 && whole >= 1
        }
    }

    /// Counts a failed attempt.
    func failed(_ peer: PeerAddress?, at now: ContinuousClock.Instant) {
        state.withLock { state in
            state.all = Self.taken(state.all, all, now)
            guard let peer else { return }
            if state.addresses[peer] == nil, state.addresses.count >= capacity {
                state.addresses = state.addresses.filter { Self.filled($0.value, address, now).left < address.burst }
                if state.addresses.count >= capacity { state.addresses = [:] }
            }
            state.addresses[peer] = Self.taken(state.addresses[peer], address, now)
        }
    }

    private static func filled(_ level: Level, _ bucket: Bucket, _ now: ContinuousClock.Instant) -> Level {
        let gained = max(0, (now - level.at).secondsAsDouble / bucket.pause.secondsAsDouble)
        return Level(left: min(bucket.burst, level.left + gained), at: now)
    }

    private static func taken(_ level: Level?, _ bucket: Bucket, _ now: ContinuousClock.Instant) -> Level {
        var level = filled(level ?? Level(left: bucket.burst, at: now), bucket, now)
        level.left = max(0, level.left - 1)
        return level
    }
}
