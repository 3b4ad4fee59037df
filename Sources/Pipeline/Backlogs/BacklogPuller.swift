import BellhopRules
import Postgres
import Push
package import ServiceRuntime
import Store

/// Takes the next of each backlog as soon as its outlet has room: urgent lines first, then the oldest, at the pace of window
/// and budget, and one alone where a breaker wants to know whether the way is open.
///
/// Any number of workers pull from the same backlogs. Each learns of one by what it has put there itself, and by looking
/// once a second.
package struct BacklogPuller: Service {
    package let name = "backlogs"
    let store: any PipelineStore
    let backlogs: Backlogs
    let breakers: Breakers
    let carrier: BacklogCarrier
    let metrics: BacklogMetrics
    let context: PipelineContext
    /// Whose lines this worker takes: those of its lanes.
    let priorities: Set<Priority>
    let interval: Duration
    /// Pulls under way: each has a session of the database and a load in memory, and there may be hundreds of backlogs.
    let turns = Gate(places: pullsAtOnce)

    /// Leaves most of a worker's sessions to its lanes.
    static let pullsAtOnce = 3
    /// Lines of one pull: what a sender starts in a moment, far from half of a lease.
    private static let most = 256
    /// Of how many that turn out not to be sent any more another is tried at once.
    private static let scouts = 20

    /// Pulls until the drain, and returns when all that was pulled is settled.
    package func run(until drain: DrainSignal) async throws {
        let shift = BacklogCarrier.Shift(drain)
        await breakers.brakes.sending { await shift.run { await pull(shift, until: drain) } }
    }

    private func pull(_ shift: BacklogCarrier.Shift, until drain: DrainSignal) async {
        await withDiscardingTaskGroup { servants in
            var watch = BacklogWatch(
                store: store,
                backlogs: backlogs,
                brakes: breakers.brakes,
                metrics: metrics,
                context: context
            )
            while !drain.isDraining, !Task.isCancelled {
                await context.clocks?.hold(until: drain)
                let now = context.time.steady()
                await watch.look(at: carrier.outlets, every: interval)
                for key in backlogs.takeUnserved(at: now, among: priorities) {
                    servants.addTask { await attend(to: key, shift) }
                }
                await backlogs.wait(atMost: interval, from: now, until: drain)
            }
        }
    }

    /// Serves a backlog until nothing waits there any more, or something holds it up.
    func attend(to key: BacklogKey, _ shift: BacklogCarrier.Shift) async {
        let rest = await serve(key, shift)
        backlogs.leave(key, restingUntil: rest.map { context.time.steady() + $0 })
    }

    /// How long it shall rest; nil where nothing waits any more.
    private func serve(_ key: BacklogKey, _ shift: BacklogCarrier.Shift) async -> Duration? {
        guard carrier.serves(key) else { return .seconds(60) }
        var pace = Pace()
        while !shift.drain.isDraining, !Task.isCancelled, let priority = backlogs.next(of: key, among: priorities) {
            guard context.clocks?.verdict ?? .agree == .agree else { return Self.breath }
            let place = BacklogPlace(key, priority)
            if let hold = breakers.hold(OutletKey(key), platform: key.platform, type: key.type) {
                // What an operator releases goes on as any backlog does: nobody has refused anything.
                guard hold.hindrance != .held else { return hold.wait }
                backlogs.startGently(key)
                // It may open sooner than it says: another's probe closes it, or an operator does.
                guard hold.mayBeOver else { return min(hold.wait, Self.longestRest) }
                guard await knock(at: key, shift) else { return Self.breath }
                continue
            }
            if backlogs.takeGentleStart(key) { pace = Pace(from: 1) }
            guard let places = await places(at: place, atMost: min(pace.size, Self.most)),
                let haul = await haul(place, in: places, shift)
            else {
                if pace.isGentle { backlogs.startGently(key) }
                return Self.breath
            }
            guard case .ready(let ready) = haul else { continue }
            guard pace.isGentle else {
                shift.loads.add(weighing: ready.footprint) { await carrier.send(ready) }
                continue
            }
            await shift.loads.carrying(ready.footprint) { await carrier.send(ready) }
            if ready.isSent { pace.grow(beyond: Self.most) }
        }
        return nil
    }

    /// Asks whether this worker may send the probe that is due, and sends it; whether its answer may have changed something.
    ///
    /// A place is there before that, and what finds no line gives the probe back: else the way would stay closed for half a
    /// minute more.
    private func knock(at key: BacklogKey, _ shift: BacklogCarrier.Shift) async -> Bool {
        guard let scout = await scout(of: key) else { return false }
        switch await breakers.passage(OutletKey(key), platform: key.platform) {
        case .held:
            carrier.dispatcher.give(back: scout.places)
            return false
        case .free:
            carrier.dispatcher.give(back: scout.places)
            return true
        case .probe(let breaker):
            if await probe(breaker, by: scout, shift) { return true }
            await breakers.giveBackProbe(of: breaker)
            return false
        }
    }

    /// Sends a single line to find out whether the way is open; what is not to be sent any more finds out nothing.
    private func probe(_ breaker: BreakerKey, by first: Scout, _ shift: BacklogCarrier.Shift) async -> Bool {
        var scout = first
        for _ in 0..<Self.scouts {
            guard case .ready(let ready)? = await haul(scout.place, in: scout.places, asScout: true, shift) else {
                return false
            }
            await shift.loads.carrying(ready.footprint) { await carrier.send(ready, probing: breaker) }
            guard !ready.isSent else { return true }
            guard let next = await self.scout(of: scout.place.key) else { return false }
            scout = next
        }
        carrier.dispatcher.give(back: scout.places)
        return false
    }

    /// A place in the line for a single one, of any urgency, and a place in the window for it.
    private struct Scout {
        let place: BacklogPlace
        let places: PulledPlaces
    }

    private func scout(of key: BacklogKey) async -> Scout? {
        guard let place = backlogs.scout(of: key, among: priorities, using: context.chance) else { return nil }
        return await places(at: place, atMost: 1).map { Scout(place: place, places: $0) }
    }

    private func places(at place: BacklogPlace, atMost count: Int) async -> PulledPlaces? {
        await carrier.dispatcher.places(upTo: count, at: OutletKey(place.key), for: place.priority.lane)
    }

    /// What came of a pull.
    private enum Haul {
        case ready(BacklogCarrier.Ready)
        /// Nothing waits there any more, or a drain came before it was looked up.
        case nothing
    }

    /// Claims the next of a place and looks them up, as soon as it is its turn and there is room in memory.
    ///
    /// Nil where another is pulling, or where a drain has begun; places that it has no use for are given back.
    private func haul(
        _ place: BacklogPlace,
        in places: PulledPlaces,
        asScout: Bool = false,
        _ shift: BacklogCarrier.Shift
    ) async -> Haul? {
        await turns.enter()
        defer { turns.leave() }
        await shift.room()
        // Something more urgent may have come while it waited.
        guard !shift.drain.isDraining,
            let priority = asScout ? place.priority : backlogs.next(of: place.key, among: priorities),
            let load = await claim(BacklogPlace(place.key, priority), in: places, asScout: asScout, shift.drain)
        else {
            carrier.dispatcher.give(back: places)
            return nil
        }
        guard !load.lines.isEmpty else {
            carrier.dispatcher.give(back: places)
            return .nothing
        }
        return await carrier.prepare(load, shift).map(Haul.ready) ?? .nothing
    }

    /// Nil where another is pulling, or the database cannot be asked.
    private func claim(
        _ place: BacklogPlace,
        in places: PulledPlaces,
        asScout: Bool,
        _ drain: DrainSignal
    ) async -> BacklogLoad? {
        let glance = backlogs.glance(at: place)
        let claim = context.newClaim()
        let lease = Lease()
        let start = context.time.steady()
        lease.begin(at: start)
        var load = BacklogLoad(place: place, lines: [], claim: claim, lease: lease, places: places)
        do throws(PostgresError) {
            let pulled =
                asScout
                ? try await store.scout(glance.look, as: claim)
                : try await store.pull(glance.look, atMost: places.count, as: claim)
            guard case .lines(let lines) = pulled else { return nil }
            load.lines = lines
            // A scout may be the last of all.
            if !asScout || lines.isEmpty { backlogs.pulled(lines.compactMap(\.queuedAt), by: glance) }
        } catch {
            context.metrics.storeFailures.increment()
            context.logger.warning("cannot read backlogs from the database", ["error": .error(error)])
            guard error.code == .outcomeUnknown, let lines = await regain(load, until: drain) else { return nil }
            load.lines = lines
        }
        metrics.count(pulled: load.lines.count, from: place.key)
        return load
    }

    /// Asks for what a pull has claimed whose answer was lost, for as long as it may be sent; nil where that is over.
    ///
    /// A statement that ends between a look and its lock is seen by the second look alone.
    private func regain(_ load: BacklogLoad, until drain: DrainSignal) async -> [ClaimedDelivery]? {
        var pauses = Pauses(drain: drain, time: context.time, chance: context.chance)
        var looks = 0
        while !load.lease.hasLasted(carrier.dispatcher.policy.beginsWithin, at: context.time.steady()) {
            guard await pauses.pause() else { return nil }
            do throws(PostgresError) {
                guard case .lines(let lines) = try await store.regain(load.place.key, as: load.claim) else { continue }
                looks += 1
                if !lines.isEmpty || looks == 2 { return lines }
            } catch {
                context.metrics.storeFailures.increment()
            }
        }
        return nil
    }

    private static let longestRest = Duration.seconds(5)

    /// Until another try where there was no room, or another was pulling.
    private static let breath = Duration.milliseconds(50)
}

/// How much is pulled at once.
///
/// After a breaker has closed it begins with a single message, and doubles with each that came through: what has piled up
/// must not be thrown at a provider that has just come back.
private struct Pace {
    private(set) var size: Int
    private(set) var isGentle: Bool

    /// As much as there is room for.
    init() {
        size = .max
        isGentle = false
    }

    init(from size: Int) {
        self.size = size
        isGentle = true
    }

    mutating func grow(beyond most: Int) {
        guard size < most else {
            self = Pace()
            return
        }
        size *= 2
    }
}

/// What one pull has brought, with its places in the outlet's window.
struct BacklogLoad: Sendable {
    let place: BacklogPlace
    var lines: [ClaimedDelivery]
    let claim: Claim
    let lease: Lease
    let places: PulledPlaces
}
