import BellhopRules
import Push
import ServiceRuntime
import Store
import Synchronization

/// Keeps the pushes of all workers together within a provider's rate limit.
///
/// A worker draws the share of a quarter of a second from the database, so that most batches need no query. A tenth of
/// every bucket is reserved for urgent messages. A share that is not used within one second expires, because it would
/// otherwise add to the bucket's later refill.
///
/// Thread safety: the shares are behind a lock, which is never held across a suspension.
final class RateBudget: Sendable {
    private struct LocalShare: Hashable {
        let name: String
        let isUrgent: Bool
    }

    private struct Share {
        var left: Int
        let until: ContinuousClock.Instant
    }

    private let shares = Mutex<[LocalShare: Share]>([:])
    private let store: any OutletStore
    private let time: any TimeSource
    private let logger: Logger

    init(store: any OutletStore, time: any TimeSource, logger: Logger) {
        self.store = store
        self.time = time
        self.logger = logger
    }

    /// Takes as much of the budget as is available, up to `wanted`, and waits until some is.
    ///
    /// It returns zero if the deadline comes first.
    func take(
        upTo wanted: Int,
        of budget: PushBudget,
        for lane: Lane,
        until deadline: ContinuousClock.Instant
    ) async -> Int {
        let drawer = LocalShare(name: budget.name, isUrgent: lane == .urgent)
        while !Task.isCancelled {
            let held = takeHeld(upTo: wanted, from: drawer)
            guard held < wanted else { return held }
            let drawn = await draw(wanted - held, of: budget, drawer)
            if held + drawn > 0 { return held + drawn }
            guard time.steady() + Self.pause < deadline else { break }
            try? await time.sleep(for: Self.pause)
        }
        return 0
    }

    /// Returns a part that was taken and not used.
    func giveBack(_ count: Int, of budget: PushBudget, for lane: Lane) {
        guard count > 0 else { return }
        let drawer = LocalShare(name: budget.name, isUrgent: lane == .urgent)
        let now = time.steady()
        shares.withLock { shares in
            let until = shares[drawer]?.until ?? now + Self.life
            shares[drawer] = Share(left: (shares[drawer]?.left ?? 0) + count, until: until)
        }
    }

    private func takeHeld(upTo wanted: Int, from drawer: LocalShare) -> Int {
        let now = time.steady()
        return shares.withLock { shares in
            guard let share = shares[drawer], share.until > now else {
                shares[drawer] = nil
                return 0
            }
            let taken = min(wanted, share.left)
            shares[drawer]?.left -= taken
            return taken
        }
    }

    /// Draws the needed amount and some more, which is kept.
    private func draw(_ needed: Int, of budget: PushBudget, _ drawer: LocalShare) async -> Int {
        let ahead = Int(budget.perSecond / 4)
        let granted: Int
        do throws(StoreError) {
            granted = try await store.draw(
                BudgetRequest(
                    name: budget.name,
                    capacity: budget.pushes,
                    refillPerSecond: budget.perSecond,
                    wanted: max(needed, min(ahead, budget.pushes / 10)),
                    reserve: drawer.isUrgent ? 0 : budget.pushes / 10
                )
            )
        } catch {
            logger.warning("cannot draw from the provider's budget", ["error": .error(error)])
            return 0
        }
        if granted > needed {
            let until = time.steady() + Self.life
            shares.withLock {
                $0[drawer] = Share(left: granted - needed + ($0[drawer]?.left ?? 0), until: until)
            }
        }
        return min(granted, needed)
    }

    private static let pause = Duration.milliseconds(100)
    private static let life = Duration.seconds(1)
}

/// The budget of an outlet's account, which outlets and workers share.
struct AccountBudget: Sendable {
    let rate: PushBudget
    let shares: RateBudget

    /// Takes as much as is available, up to `wanted`, and waits until some is; zero if the deadline comes first.
    func take(upTo wanted: Int, for lane: Lane, until deadline: ContinuousClock.Instant) async -> Int {
        await shares.take(upTo: wanted, of: rate, for: lane, until: deadline)
    }

    /// Returns a part that was taken and not used.
    func giveBack(_ count: Int, for lane: Lane) {
        shares.giveBack(count, of: rate, for: lane)
    }
}
