import BellhopRules
import Push
import ServiceRuntime
import Store
import Tracing

/// Sends shipments, each through its provider's window, and reports their dispositions in parts.
///
/// Shipments that cannot start immediately join their outlet's backlog, and are sent from there in their turn.
struct Dispatcher: Sendable {
    let senders: OutletDirectory
    let breakers: CircuitBreakers
    let budgets: RateBudget
    let backlogs: Backlogs
    let policy: DeliveryPolicy
    let context: PipelineContext

    /// Receives the dispositions of each part as soon as it ends, concurrently for several parts.
    typealias CompletionHandler = @Sendable ([Disposition]) async -> Void

    /// The time within which an outlet must start a shipment.
    ///
    /// After that it waits in the ledger, because a slow provider must not use the messages and memory of others.
    private static let patience = Duration.seconds(1)

    /// The common data of the shipments to one outlet.
    private struct OutletTurn: Sendable {
        let key: OutletKey
        let outlet: OutletDirectory.Outlet
        let lane: Lane
        let sentAt: Timestamp
        /// The fan-out page to which they belong, if it is traced.
        var page: SpanContext?
        let ended: CompletionHandler
    }

    /// Sends shipments, and returns after the last part has ended.
    ///
    /// Parts that wait for their provider delay neither other providers' parts nor parts that their own provider
    /// could not start.
    func send(
        _ shipments: [OutgoingDelivery],
        lane: Lane,
        on page: SpanContext? = nil,
        _ ended: @escaping CompletionHandler
    ) async {
        let sentAt = context.time.timestamp
        await withDiscardingTaskGroup { tasks in
            for (key, shipments) in Dictionary(grouping: shipments, by: \.outlet) {
                tasks.addTask {
                    guard let outlet = senders.outlet(key) else {
                        return await ended(Self.held(shipments, BacklogKey(key), lane, .windowFull))
                    }
                    let turn = OutletTurn(
                        key: key,
                        outlet: outlet,
                        lane: lane,
                        sentAt: sentAt,
                        page: page,
                        ended: ended
                    )
                    let free = await free(of: shipments, turn) { backlogs.ahead(of: $0, in: lane, key) }
                    if !free.isEmpty { await send(Self.sorted(free), turn) }
                }
            }
        }
    }

    /// Sends deliveries that were pulled from one backlog, within the places that were reserved for them.
    ///
    /// Unneeded places are returned immediately.
    ///
    /// `probe` is the breaker to test.
    func send(
        _ shipments: [OutgoingDelivery],
        in places: PulledPlaces,
        probing probe: BreakerKey? = nil,
        _ ended: @escaping CompletionHandler
    ) async {
        guard let outlet = senders.outlet(places.key) else {
            return await ended(Self.held(shipments, BacklogKey(places.key), places.lane, .windowFull))
        }
        let turn = OutletTurn(
            key: places.key,
            outlet: outlet,
            lane: places.lane,
            sentAt: context.time.timestamp,
            ended: ended
        )
        let free = probe == nil ? await free(of: shipments, turn) { _ in nil } : shipments
        let started = Array(free.prefix(places.count))
        give(back: places.count - started.count, of: places, outlet)
        let grant = Self.grant(started.count)
        async let begun: Void = started.isEmpty ? () : start(started, turn, under: grant, probing: probe)
        let late = free.dropFirst(started.count)
        if !late.isEmpty { await ended(Self.held(Array(late), BacklogKey(places.key), places.lane, .windowFull)) }
        await begun
    }

    /// Returns unused places of pulled deliveries, with their share of the budget.
    func give(back count: Int, of places: PulledPlaces, _ outlet: OutletDirectory.Outlet) {
        guard count > 0 else { return }
        outlet.window.release(Self.grant(count), of: places.lane)
        if let budget = outlet.budget { budgets.giveBack(count, of: budget, for: places.lane) }
    }

    private static func grant(_ count: Int) -> SendWindow.Grant { SendWindow.Grant(pushes: count, messages: 0) }

    /// Sorts shipments by message, as windows require.
    private static func sorted(_ shipments: [OutgoingDelivery]) -> [OutgoingDelivery] {
        let isSorted = zip(shipments, shipments.dropFirst()).allSatisfy { $0.index <= $1.index }
        return isSorted ? shipments : shipments.sorted { $0.index < $1.index }
    }

    /// Returns the shipments that nothing blocks.
    ///
    /// The others join the backlog of the obstacle, or the backlog that `ahead` returns.
    private func free(
        of shipments: [OutgoingDelivery],
        _ turn: OutletTurn,
        ahead: (OutgoingDelivery) -> BacklogKey?
    ) async -> [OutgoingDelivery] {
        var free: [OutgoingDelivery] = []
        var held: [Disposition] = []
        let isClear = breakers.isClear(turn.key)
        for shipment in shipments {
            if !isClear, let hold = breakers.hold(turn.key, of: shipment) {
                held += shipment.put(into: hold.backlog, from: turn.lane, because: hold.hindrance)
            } else if let backlog = ahead(shipment) {
                held += shipment.put(into: backlog, from: turn.lane, because: .windowFull)
            } else {
                free.append(shipment)
            }
        }
        if !held.isEmpty { await turn.ended(held) }
        return free
    }

    private static func held(
        _ shipments: [OutgoingDelivery],
        _ backlog: BacklogKey,
        _ lane: Lane,
        _ why: WaitReason
    ) -> [Disposition] {
        shipments.flatMap { $0.put(into: backlog, from: lane, because: why) }
    }

    /// Acquires places first and then their share of the budget, because a drawn share that is not used is lost to all
    /// workers.
    private func send(_ shipments: [OutgoingDelivery], _ turn: OutletTurn) async {
        let deadline = context.time.steady() + Self.patience
        await withDiscardingTaskGroup { tasks in
            var rest = shipments[...]
            while !rest.isEmpty {
                let grant = await turn.outlet.window.acquire(
                    rest.map(\.index),
                    for: turn.lane,
                    until: deadline,
                    patience: Self.patience
                )
                guard grant != .none else { break }
                let part = rest.prefix(grant.pushes)
                rest = rest.dropFirst(grant.pushes)
                tasks.addTask { await send(part, turn, under: grant, until: deadline) }
            }
            guard !rest.isEmpty else { return }
            await turn.ended(Self.held(Array(rest), BacklogKey(turn.key), turn.lane, .windowFull))
        }
    }

    /// Sends shipments that have places, at the rate of the outlet's budget.
    private func send(
        _ shipments: ArraySlice<OutgoingDelivery>,
        _ turn: OutletTurn,
        under grant: SendWindow.Grant,
        until deadline: ContinuousClock.Instant
    ) async {
        guard let budget = turn.outlet.budget else { return await start(Array(shipments), turn, under: grant) }
        await withDiscardingTaskGroup { tasks in
            var (rest, left) = (shipments, grant)
            while !rest.isEmpty {
                let count = await budgets.take(upTo: rest.count, of: budget, for: turn.lane, until: deadline)
                guard count > 0 else { break }
                let part = rest.prefix(count)
                rest = rest.dropFirst(count)
                // A message of which some shipments remain is held by these.
                let others = SendWindow.Grant(for: rest.map(\.index)[...])
                let own = left - others
                left = others
                tasks.addTask { await start(Array(part), turn, under: own) }
            }
            guard !rest.isEmpty else { return }
            turn.outlet.window.release(left, of: turn.lane)
            await turn.ended(Self.held(Array(rest), BacklogKey(turn.key), turn.lane, .windowFull))
        }
    }

    /// Sends the shipments that may still be sent.
    ///
    /// If half of a lease is over, another worker could claim the delivery before the answer arrives. A shipment that
    /// waited for its place may be under a hold by now.
    private func start(
        _ shipments: [OutgoingDelivery],
        _ turn: OutletTurn,
        under grant: SendWindow.Grant,
        probing breaker: BreakerKey? = nil
    ) async {
        let now = context.time.steady()
        let hasLapsed = { (shipment: OutgoingDelivery) in
            shipment.lease?.hasLasted(policy.beginsWithin, at: now) ?? false
        }
        let lapsed = shipments.filter(hasLapsed)
        let (timely, braked) = braked(lapsed.isEmpty ? shipments : shipments.filter { !hasLapsed($0) }, turn)
        let begun = context.tracer?.time.now()
        let verdicts = timely.isEmpty ? [] : await turn.outlet.send(timely)
        if let begun { trace(timely, verdicts, by: turn.key.provider, on: turn.page, since: begun) }
        turn.outlet.window.release(grant, of: turn.lane)
        let unsent = shipments.count - timely.count
        if unsent > 0 {
            if let budget = turn.outlet.budget { budgets.giveBack(unsent, of: budget, for: turn.lane) }
            await turn.ended(Self.held(lapsed, BacklogKey(turn.key), turn.lane, .leaseOver) + braked)
        }
        guard !timely.isEmpty else {
            if let breaker { await breakers.giveBackProbe(of: breaker) }
            return
        }
        let rulings = await breakers.judge(verdicts, of: timely, turn.key, probe: breaker)
        var answered: [(shipment: OutgoingDelivery, verdict: Verdict)] = []
        answered.reserveCapacity(timely.count)
        var held: [Disposition] = []
        for (shipment, ruling) in zip(timely, rulings) {
            if let ruling {
                answered.append((shipment, ruling))
            } else {
                let backlog = breakers.hold(turn.key, platform: shipment.platform)?.backlog ?? BacklogKey(turn.key)
                held += shipment.put(into: backlog, from: turn.lane, because: .breaker)
            }
        }
        await turn.ended(policy.dispositions(of: answered, sentAt: turn.sentAt, using: context.chance) + held)
    }
}

extension Dispatcher {
    /// Returns the shipments that no operator holds now, and the dispositions of the others.
    private func braked(_ shipments: [OutgoingDelivery], _ turn: OutletTurn) -> (
        free: [OutgoingDelivery], held: [Disposition]
    ) {
        guard !breakers.brakes.isClear(turn.key.app) else { return (shipments, []) }
        var (free, held): ([OutgoingDelivery], [Disposition]) = ([], [])
        for shipment in shipments {
            if let hold = breakers.brakes.hold(turn.key, of: shipment) {
                held += shipment.put(into: hold.backlog, from: turn.lane, because: hold.hindrance)
            } else {
                free.append(shipment)
            }
        }
        return (free, held)
    }
}

/// Reserved places of a window and its budget, for deliveries that are pulled from a backlog.
struct PulledPlaces: Sendable {
    let key: OutletKey
    let lane: Lane
    let count: Int
}

extension Dispatcher {
    /// Reserves places for the next deliveries of a backlog, as many as become free within one second; `nil` if there
    /// are none.
    func places(upTo count: Int, at key: OutletKey, for lane: Lane) async -> PulledPlaces? {
        guard let outlet = senders.outlet(key) else { return nil }
        let deadline = context.time.steady() + Self.patience
        let grant = await outlet.window.acquire(pulling: count, for: lane, until: deadline)
        guard let budget = outlet.budget, grant != .none else {
            return grant == .none ? nil : PulledPlaces(key: key, lane: lane, count: grant.pushes)
        }
        let affordable = await budgets.take(upTo: grant.pushes, of: budget, for: lane, until: deadline)
        outlet.window.release(Self.grant(grant.pushes - affordable), of: lane)
        return affordable > 0 ? PulledPlaces(key: key, lane: lane, count: affordable) : nil
    }

    /// Returns places in which nothing is sent.
    func give(back places: PulledPlaces) {
        guard let outlet = senders.outlet(places.key) else { return }
        give(back: places.count, of: places, outlet)
    }
}
