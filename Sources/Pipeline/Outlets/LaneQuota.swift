import BellhopRules
import Synchronization

/// Limits the broker messages of each lane that all outlets together may hold, in flight or waiting for the window.
///
/// Part of the prefetch therefore stays free for messages that need no outlet.
///
/// Thread safety: the counts are behind a lock.
final class LaneQuota: Sendable {
    private let limits: [Lane: Int]
    private let held = Mutex<[Lane: Int]>([:])

    /// Creates shares.
    ///
    /// A lane without a limit may be held completely.
    init(_ limits: [Lane: Int] = [:]) {
        self.limits = limits
    }

    /// Takes as many of `wanted` as are free, and returns their number.
    func take(upTo wanted: Int, of lane: Lane) -> Int {
        guard wanted > 0, let limit = limits[lane] else { return wanted }
        return held.withLock { held in
            let taken = min(wanted, max(0, limit - held[lane, default: 0]))
            held[lane, default: 0] += taken
            return taken
        }
    }

    /// Takes all of these, or none, and returns whether it took them.
    func takeAll(_ count: Int, of lane: Lane) -> Bool {
        guard count > 0, let limit = limits[lane] else { return true }
        return held.withLock { held in
            guard held[lane, default: 0] + count <= limit else { return false }
            held[lane, default: 0] += count
            return true
        }
    }

    func giveBack(_ count: Int, of lane: Lane) {
        guard count > 0, limits[lane] != nil else { return }
        held.withLock { $0[lane, default: 0] -= count }
    }
}
