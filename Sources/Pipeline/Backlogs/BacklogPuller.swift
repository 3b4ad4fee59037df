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

    /// Lines of one pull: what a sender starts in a moment, far from half of a lease.
    private static let most = 256
    /// Of how many that turn out not to be sent any more another is tried at once.
    private static let scouts = 20

    /// Pulls until the drain, and returns when all that was pulled is settled.
    package func run(until drain: DrainSignal) async throws {
        let shift = BacklogCarrier.Shift(drain)
        await shift.run {
            await withDiscardingTaskGroup { servants in
                var watch = BacklogWatch(store: store, backlogs: backlogs, metrics: metrics, context: context)
                while !drain.isDraining, !Task.isCancelled {
                    let now = context.time.steady()
                    await watch.look(at: carrier.outlets, every: interval)
                    for key in backlogs.takeUnserved(at: now, among: priorities) {
                        servants.addTask { await attend(to: key, shift) }
                    }
                    await backlogs.wait(atMost: interval, from: now, until: drain)
                }
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
            switch await breakers.passage(OutletKey(key), platform: key.platform) {
            case .held(let hold):
                backlogs.startGently(key)
                // It may open sooner than it says: another's probe closes it, or an operator does.
                return min(hold.wait, Self.longestRest)
            case .probe(let breaker):
                backlogs.startGently(key)
                guard await probe(breaker, of: BacklogPlace(key, priority), shift) else { return Self.breath }
            case .free:
                if backlogs.takeGentleStart(key) { pace = Pace(from: 1) }
                await shift.loads.room()
                let place = BacklogPlace(key, priority)
                let count = min(pace.size, Self.most)
                guard let load = await pull(place, atMost: count, shift.drain) else {
                    if pace.isGentle { backlogs.startGently(key) }
                    return Self.breath
                }
                guard !load.lines.isEmpty, let ready = await carrier.prepare(load, shift) else { continue }
                guard pace.isGentle else {
                    shift.loads.add(weighing: ready.footprint) { await carrier.send(ready) }
                    continue
                }
                await carrier.send(ready)
                if ready.isSent { pace.grow(beyond: Self.most) }
            }
        }
        return nil
    }

    /// Sends a single line to find out whether the way is open; what is not to be sent any more finds out nothing.
    private func probe(_ breaker: BreakerKey, of place: BacklogPlace, _ shift: BacklogCarrier.Shift) async -> Bool {
        for _ in 0..<Self.scouts where !shift.drain.isDraining {
            guard let load = await pull(place, atMost: 1, asScout: true, shift.drain), !load.lines.isEmpty else {
                break
            }
            guard let ready = await carrier.prepare(load, shift) else { break }
            await carrier.send(ready, probing: breaker)
            if ready.isSent { return true }
        }
        return false
    }

    /// Claims the next of a place as far as there is room.
    ///
    /// Nil where there is none, where another is pulling, or where a drain has begun.
    private func pull(
        _ place: BacklogPlace,
        atMost count: Int,
        asScout: Bool = false,
        _ drain: DrainSignal
    ) async -> BacklogLoad? {
        let lane = place.priority.lane
        guard let places = await carrier.dispatcher.places(upTo: count, at: OutletKey(place.key), for: lane) else {
            return nil
        }
        // Something more urgent may have come while it waited for them.
        guard !drain.isDraining, let priority = backlogs.next(of: place.key, among: priorities) else {
            carrier.dispatcher.give(back: places)
            return nil
        }
        let place = BacklogPlace(place.key, priority)
        let glance = backlogs.glance(at: place)
        var chance = context.chance
        let claim = Claim(using: &chance)
        let lease = Lease()
        let start = context.time.steady()
        do throws(PostgresError) {
            let pulled =
                asScout
                ? try await store.scout(glance.look, as: claim)
                : try await store.pull(glance.look, atMost: places.count, as: claim)
            if case .lines(let lines) = pulled {
                lease.begin(at: start)
                // A scout may be the last of all.
                if !asScout || lines.isEmpty { backlogs.pulled(lines.compactMap(\.queuedAt), by: glance) }
                metrics.count(pulled: lines.count, from: place.key)
                if lines.isEmpty { carrier.dispatcher.give(back: places) }
                return BacklogLoad(place: place, lines: lines, claim: claim, lease: lease, places: places)
            }
        } catch {
            context.metrics.storeFailures.increment()
            context.logger.warning("the database cannot be asked for what waits", ["error": .error(error)])
        }
        carrier.dispatcher.give(back: places)
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
    let lines: [ClaimedDelivery]
    let claim: Claim
    let lease: Lease
    let places: PulledPlaces
}
