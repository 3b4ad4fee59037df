import BellhopRules
import ServiceRuntime
import Store
import Synchronization

/// Claims and prepares the next deliveries of a place, also if an answer of the database is lost.
extension BacklogPuller {
    /// The result of a pull.
    enum PullOutcome {
        case ready(PulledDeliverySender.Ready)
        /// Nothing waits there, or a drain came before the look-up.
        case nothing
        case hasFailed
    }

    /// Claims and looks up the next deliveries of a place, as soon as it has a turn and there is free memory.
    ///
    /// It returns `nil` if another worker is pulling or a drain has begun. Unused places are returned.
    func pull(
        _ place: BacklogPlace,
        in places: PulledPlaces,
        asProbe: Bool = false,
        _ pulls: PulledDeliverySender.Context
    ) async -> PullOutcome? {
        await turns.enter()
        defer { turns.leave() }
        await pulls.room()
        // A more urgent delivery may have arrived meanwhile.
        guard !pulls.drain.isDraining,
            let priority =
                asProbe ? place.priority : places.outlet.backlogs.next(of: place.key, among: priorities)
        else {
            places.giveBack()
            return nil
        }
        let claimed = await claim(BacklogPlace(place.key, priority), in: places, asProbe: asProbe, pulls.drain)
        if case .load(let load) = claimed, !load.lines.isEmpty {
            return await sender.prepare(load, pulls).map(PullOutcome.ready) ?? .nothing
        }
        places.giveBack()
        return switch claimed {
        case .load: .nothing
        case .isBusy: nil
        case .hasFailed: .hasFailed
        }
    }

    private enum Claimed {
        case load(PulledBatch)
        /// Another worker is pulling.
        case isBusy
        case hasFailed
    }

    private func claim(
        _ place: BacklogPlace,
        in places: PulledPlaces,
        asProbe: Bool,
        _ drain: DrainSignal
    ) async -> Claimed {
        let backlogs = places.outlet.backlogs
        let poll = backlogs.poll(place)
        let claim = context.newClaim()
        let lease = Lease()
        var load = PulledBatch(place: place, lines: [], claim: claim, lease: lease, places: places)
        // The answer of any part may be lost.
        var isLost = false
        do throws(StoreError) {
            let taken = try await failing[place].take(atMost: places.count) { (users) throws(StoreError) in
                try await store.head(poll.look, atMost: places.count, of: users)
            } count: {
                $0.lines?.count
            } _: { (users, limit) throws(StoreError) -> PullResult in
                let start = context.time.steady()
                do throws(StoreError) {
                    let look = poll.look.reaching(users)
                    let pulled =
                        asProbe
                        ? try await store.scout(look, as: claim, of: users)
                        : try await store.pull(look, atMost: limit, as: claim, of: users)
                    if pulled.lines?.isEmpty == false { lease.begin(at: start) }
                    return pulled
                } catch {
                    context.metrics.storeFailures.increment()
                    if error.code == .outcomeUnknown {
                        isLost = true
                        lease.begin(at: start)
                    }
                    throw error
                }
            }
            let lines = taken.values.compactMap(\.lines)
            guard isLost || !lines.isEmpty else { return .isBusy }
            load.lines = Array(lines.joined())
            // A probe's delivery may be the last of all.
            if let lines = taken.main?.lines, !asProbe || lines.isEmpty {
                backlogs.pulled(lines.compactMap(\.queuedAt), by: poll)
            }
        } catch {
            context.logger.warning("cannot read backlogs from the database", ["error": .error(error)])
            guard isLost else { return .hasFailed }
        }
        if isLost {
            let lines = await regain(load, until: drain)
            guard lines != nil || !load.lines.isEmpty else { return .hasFailed }
            load.lines = lines ?? load.lines
        }
        metrics.count(pulled: load.lines.count, from: place.key)
        return .load(load)
    }

    /// Reads all deliveries of a pull of which an answer was lost; `nil` if the server fails on that, or after minutes,
    /// when the sweeper has them.
    ///
    /// The database may be unavailable for longer than the deliveries may be sent. They then return to the backlog. A
    /// statement that ends between a query and its lock is seen only by the second query.
    private func regain(_ load: PulledBatch, until drain: DrainSignal) async -> [ClaimedDelivery]? {
        var pauses = RetryBackoff(drain: drain, time: context.time, chance: context.chance)
        var (looks, failures) = (0, 0)
        while failures < 3, !load.lease.hasLasted(Self.longestSearch, at: context.time.steady()) {
            guard await pauses.pause() else { return nil }
            do throws(StoreError) {
                guard case .lines(let lines) = try await store.regain(load.place.key, as: load.claim) else { continue }
                looks += 1
                if lines.count > load.lines.count || looks == 2 { return lines }
            } catch {
                context.metrics.storeFailures.increment()
                if error.mayPassForOthers { failures += 1 }
            }
        }
        return nil
    }

    /// The period of the search for a lost pull, about as long as the sweeper leaves it to this worker.
    private static let longestSearch = Duration.seconds(360)
}

/// The result of one pull, with its places in the outlet's window.
struct PulledBatch: Sendable {
    let place: BacklogPlace
    var lines: [ClaimedDelivery]
    let claim: Claim
    let lease: Lease
    let places: PulledPlaces
}

/// The users on whose rows the server fails, separately for each place of the backlogs.
///
/// Thread safety: the places are behind a lock.
final class FailingUsersByPlace: Sendable {
    private let context: PipelineContext
    private let places = Mutex<[BacklogPlace: FailingUsers]>([:])

    init(_ context: PipelineContext) {
        self.context = context
    }

    subscript(place: BacklogPlace) -> FailingUsers {
        places.withLock { places in
            if let known = places[place] { return known }
            let users = FailingUsers(
                taking: "backlogs",
                time: context.time,
                logger: context.logger,
                metrics: context.metrics.setAside
            )
            places[place] = users
            return users
        }
    }
}
