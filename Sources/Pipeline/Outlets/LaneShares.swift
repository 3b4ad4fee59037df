import BellhopRules
import Synchronization

/// How many of the broker's messages all outlets together may hold of each lane, under way or waiting for a place, so that
/// something of its prefetch is always left for what needs no outlet.
///
/// Thread safety: the counts are behind a lock.
final class LaneShares: Sendable {
    private let limits: [Lane: Int]
    private let held = Mutex<[Lane: Int]>([:])

    /// A lane without a limit may be held whole.
    init(_ limits: [Lane: Int] = [:]) {
        self.limits = limits
    }

    /// Takes as many of these as there are.
    func take(upTo wanted: Int, of lane: Lane) -> Int {
        guard wanted > 0, let limit = limits[lane] else { return wanted }
        return held.withLock { held in
            let taken = min(wanted, max(0, limit - held[lane, default: 0]))
            held[lane, default: 0] += taken
            return taken
        }
    }

    /// Takes all of these, or none.
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
