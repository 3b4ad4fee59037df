package import BellhopRules
import Push
package import ServiceRuntime
import Store

/// Pulls the next deliveries of each backlog as soon as its outlet has free places: urgent deliveries first, then the
/// oldest.
///
/// The window and the budget set the pace; while a breaker is open, a single delivery goes out as its probe.
///
/// Any number of workers pull from the same backlogs. A worker learns of a backlog from its own additions, and from a
/// poll once per second.
package struct BacklogPuller: Service {
    package let name = "backlogs"
    let store: any WorkerDatabase
    let outlets: Outlets
    let sender: PulledDeliverySender
    let metrics: BacklogMetrics
    let context: PipelineContext
    /// The failing users of each place.
    let failing: FailingUsersByPlace
    /// The priorities of this worker's lanes.
    let priorities: Set<Priority>
    let interval: Duration
    /// Limits concurrent pulls.
    ///
    /// Each uses a database session and holds a load in memory, and there may be hundreds of backlogs.
    let turns = ConcurrencyLimiter(places: pullsAtOnce)

    /// The number of concurrent pulls; it leaves most of a worker's sessions to its lanes.
    static let pullsAtOnce = 3
    /// The maximum of deliveries per pull.
    ///
    /// A sender starts them in a moment, far below half of a lease.
    private static let most = 256
    /// The maximum of deliveries that are tried in one probe, as replacements for those not sent after all.
    private static let mostProbes = 20

    /// Pulls until the drain, and returns when all pulled deliveries are settled.
    package func run(until drain: DrainSignal) async throws {
        let pulls = PulledDeliverySender.Context(drain)
        await outlets.holds.sending { await pulls.run { await pull(pulls, until: drain) } }
    }

    private func pull(_ pulls: PulledDeliverySender.Context, until drain: DrainSignal) async {
        await withDiscardingTaskGroup { servants in
            var poller = BacklogPoller(store: store, outlets: outlets, metrics: metrics, context: context)
            while !drain.isDraining, !Task.isCancelled {
                await context.clocks?.hold(until: drain)
                let now = context.time.steady()
                await poller.look(every: interval)
                for backlog in outlets.takeUnserved(at: now, among: priorities) {
                    servants.addTask { await attend(to: backlog, pulls) }
                }
                await outlets.waitForBacklogs(atMost: interval, from: now, until: drain)
            }
        }
    }

    /// Serves a backlog until it is empty or blocked.
    func attend(to backlog: Outlets.Backlog, _ pulls: PulledDeliverySender.Context) async {
        let rest = await serve(backlog, pulls)
        backlog.outlet.backlogs.leave(backlog.key, restingUntil: rest.map { context.time.steady() + $0 })
    }

    /// Serves a backlog.
    ///
    /// It returns the time for which the backlog must rest, or `nil` if nothing waits.
    private func serve(_ backlog: Outlets.Backlog, _ pulls: PulledDeliverySender.Context) async -> Duration? {
        let (outlet, key) = (backlog.outlet, backlog.key)
        let backlogs = outlet.backlogs
        var pace = Pace()
        while !pulls.drain.isDraining, !Task.isCancelled, let priority = backlogs.next(of: key, among: priorities) {
            guard context.clocks?.verdict ?? .agree == .agree else { return Self.breath }
            let place = BacklogPlace(key, priority)
            if let obstacle = outlet.obstacle(platform: key.platform, type: key.type) {
                backlogs.endMeasurement(of: key)
                // A released hold needs no gentle start, because no provider has rejected anything.
                guard obstacle.gate != .hold else { return obstacle.wait }
                backlogs.startGently(key)
                // The breaker may close earlier, by another worker's probe or by an operator.
                guard obstacle.mayBeOver else { return min(obstacle.wait, Self.longestRest) }
                guard await probe(backlog, pulls) else { return Self.breath }
                continue
            }
            if backlogs.takeGentleStart(key) { pace = Pace(from: 1) }
            // A slow provider may hold the memory for minutes; meanwhile no place of another one is reserved.
            await pulls.room()
            guard let places = await places(at: place, of: outlet, atMost: min(pace.size, Self.most)),
                let pulled = await pull(place, in: places, pulls)
            else {
                if pace.isGentle { backlogs.startGently(key) }
                return Self.breath
            }
            if case .hasFailed = pulled { return Self.restAfterFailure }
            guard case .ready(let ready) = pulled else { continue }
            guard pace.isGentle else {
                pulls.loads.add(weighing: ready.footprint) { await sender.send(ready) }
                continue
            }
            await pulls.loads.carrying(ready.footprint) { await sender.send(ready) }
            if ready.isSent { pace.grow(beyond: Self.most) }
        }
        return nil
    }

    /// Claims the due probe and sends it.
    ///
    /// It returns whether its answer may have changed the state.
    ///
    /// It reserves a place first, and returns the probe if no delivery is found. Otherwise the breaker would stay open
    /// for another half minute.
    private func probe(_ backlog: Outlets.Backlog, _ pulls: PulledDeliverySender.Context) async -> Bool {
        await pulls.room()
        guard let slot = await probeSlot(of: backlog) else { return false }
        switch await backlog.outlet.admission(platform: backlog.key.platform) {
        case .blocked:
            slot.places.giveBack()
            return false
        case .free:
            slot.places.giveBack()
            return true
        case .probe(let breaker):
            if await send(aProbeOf: breaker, to: backlog, in: slot, pulls) { return true }
            await backlog.outlet.giveBackProbe(of: breaker)
            return false
        }
    }

    /// Sends a single delivery as the probe.
    ///
    /// A delivery that is no longer to be sent tests nothing, so another one follows.
    private func send(
        aProbeOf breaker: BreakerKey,
        to backlog: Outlets.Backlog,
        in first: ProbeSlot,
        _ pulls: PulledDeliverySender.Context
    ) async -> Bool {
        var slot = first
        for _ in 0..<Self.mostProbes {
            guard case .ready(let ready)? = await pull(slot.place, in: slot.places, asProbe: true, pulls) else {
                return false
            }
            await pulls.loads.carrying(ready.footprint) { await sender.send(ready, probing: breaker) }
            guard !ready.isSent else { return true }
            guard let next = await probeSlot(of: backlog) else { return false }
            slot = next
        }
        slot.places.giveBack()
        return false
    }

    /// A position in the backlog for a single delivery of any urgency, and a place in the window for it.
    private struct ProbeSlot {
        let place: BacklogPlace
        let places: PulledPlaces
    }

    private func probeSlot(of backlog: Outlets.Backlog) async -> ProbeSlot? {
        let (outlet, key) = (backlog.outlet, backlog.key)
        guard let place = outlet.backlogs.probePlace(of: key, among: priorities, using: context.chance) else {
            return nil
        }
        return await places(at: place, of: outlet, atMost: 1).map { ProbeSlot(place: place, places: $0) }
    }

    private func places(at place: BacklogPlace, of outlet: Outlet, atMost count: Int) async -> PulledPlaces? {
        await sender.dispatcher.places(upTo: count, at: outlet, for: place.priority.lane)
    }

    private static let longestRest = Duration.seconds(5)

    /// The wait before another pull if no place was free or another worker was pulling.
    private static let breath = Duration.milliseconds(50)
    private static let restAfterFailure = Duration.seconds(1)
}

/// The size of the next pull.
///
/// After a breaker has closed, the size begins at one and doubles with each success. A provider that has just recovered
/// must not receive the whole backlog.
private struct Pace {
    private(set) var size: Int
    private(set) var isGentle: Bool

    /// Creates an unlimited pace.
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

extension Intake {
    /// Returns a service that resumes the deliveries in the backlogs of these lanes.
    package func puller(for lanes: [Lane], every interval: Duration = .seconds(1)) -> BacklogPuller {
        BacklogPuller(
            store: worker.store,
            outlets: worker.outlets,
            sender: PulledDeliverySender(
                catalogs: catalogs,
                zones: zones,
                outlets: worker.outlets.keys,
                resumption: resumption,
                dispatcher: dispatcher,
                settler: settler,
                context: context
            ),
            metrics: context.metrics.backlogs,
            context: context,
            failing: FailingUsersByPlace(context),
            priorities: Set(Priority.allCases.filter { lanes.contains($0.lane) }),
            interval: interval
        )
    }
}
