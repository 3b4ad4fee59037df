import BellhopRules
import Push
import ServiceRuntime
import Store
import Tracing

/// Sends shipments, each through its provider's window, and reports their dispositions in parts.
///
/// Shipments that cannot start immediately join their outlet's backlog, and are sent from there in their turn.
struct Dispatcher: Sendable {
    let outlets: Outlets
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
        let outlet: Outlet
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
                    // The decider suppresses deliveries to an outlet that is not configured, so this is a safeguard.
                    guard let outlet = outlets[key] else {
                        let obstacle = Obstacle(gate: .window, backlog: BacklogKey(key))
                        return await ended(shipments.flatMap { $0.put(behind: obstacle, from: lane) })
                    }
                    let turn = OutletTurn(outlet: outlet, lane: lane, sentAt: sentAt, page: page, ended: ended)
                    let free = await admitted(shipments, turn, arePulled: false)
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
        let turn = OutletTurn(
            outlet: places.outlet,
            lane: places.lane,
            sentAt: context.time.timestamp,
            ended: ended
        )
        let free = probe == nil ? await admitted(shipments, turn, arePulled: true) : shipments
        let started = Array(free.prefix(places.count))
        places.giveBack(places.count - started.count)
        let grant = PulledPlaces.grant(started.count)
        async let begun: Void = started.isEmpty ? () : start(started, turn, under: grant, probing: probe)
        let late = free.dropFirst(started.count)
        if !late.isEmpty { await ended(places.outlet.put(late, behind: .window, from: places.lane)) }
        await begun
    }

    /// Sorts shipments by message, as windows require.
    private static func sorted(_ shipments: [OutgoingDelivery]) -> [OutgoingDelivery] {
        let isSorted = zip(shipments, shipments.dropFirst()).allSatisfy { $0.index <= $1.index }
        return isSorted ? shipments : shipments.sorted { $0.index < $1.index }
    }

    /// Returns the shipments that may ask for a place, and reports the others.
    private func admitted(
        _ shipments: [OutgoingDelivery],
        _ turn: OutletTurn,
        arePulled: Bool
    ) async -> [OutgoingDelivery] {
        let (free, deferred) = turn.outlet.admit(shipments, from: turn.lane, arePulled: arePulled)
        if !deferred.isEmpty { await turn.ended(deferred) }
        return free
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
            await turn.ended(turn.outlet.put(rest, behind: .window, from: turn.lane))
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
                let count = await budget.take(upTo: rest.count, for: turn.lane, until: deadline)
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
            await turn.ended(turn.outlet.put(rest, behind: .budget, from: turn.lane))
        }
    }

    /// Sends the shipments that may still be sent.
    private func start(
        _ shipments: [OutgoingDelivery],
        _ turn: OutletTurn,
        under grant: SendWindow.Grant,
        probing breaker: BreakerKey? = nil
    ) async {
        let (outlet, lane) = (turn.outlet, turn.lane)
        let (timely, deferred) = outlet.release(shipments, from: lane, beginningWithin: policy.beginsWithin)
        let begun = context.tracer?.time.now()
        let start = context.time.steady()
        let verdicts = timely.isEmpty ? [] : await outlet.send(timely)
        outlet.count(verdicts, took: context.time.steady() - start)
        if let begun { trace(timely, verdicts, by: outlet.key.provider, on: turn.page, since: begun) }
        outlet.window.release(grant, of: lane)
        let unsent = shipments.count - timely.count
        if unsent > 0 {
            outlet.budget?.giveBack(unsent, for: lane)
            await turn.ended(deferred)
        }
        guard !timely.isEmpty else {
            if let breaker { await outlet.giveBackProbe(of: breaker) }
            return
        }
        let rulings = await outlet.evaluate(verdicts, of: timely, probing: breaker)
        var answered: [(shipment: OutgoingDelivery, verdict: Verdict)] = []
        answered.reserveCapacity(timely.count)
        var blocked: [Disposition] = []
        for (shipment, ruling) in zip(timely, rulings) {
            if let ruling {
                answered.append((shipment, ruling))
            } else {
                let backlog = outlet.obstacle(platform: shipment.platform)?.backlog ?? BacklogKey(outlet.key)
                blocked += shipment.put(behind: Obstacle(gate: .breaker, backlog: backlog), from: lane)
            }
        }
        await turn.ended(policy.dispositions(of: answered, sentAt: turn.sentAt, using: context.chance) + blocked)
    }
}

/// Reserved places of a window and its budget, for deliveries that are pulled from a backlog.
struct PulledPlaces: Sendable {
    let outlet: Outlet
    let lane: Lane
    let count: Int

    /// Returns places in which nothing is sent, with their share of the budget; all of them unless `count` is given.
    func giveBack(_ count: Int? = nil) {
        let unused = count ?? self.count
        guard unused > 0 else { return }
        outlet.window.release(Self.grant(unused), of: lane)
        outlet.budget?.giveBack(unused, for: lane)
    }

    static func grant(_ count: Int) -> SendWindow.Grant { SendWindow.Grant(pushes: count, messages: 0) }
}

extension Dispatcher {
    /// Reserves places for the next deliveries of a backlog, as many as become free within one second; `nil` if there
    /// are none.
    func places(upTo count: Int, at outlet: Outlet, for lane: Lane) async -> PulledPlaces? {
        let deadline = context.time.steady() + Self.patience
        let grant = await outlet.window.acquire(pulling: count, for: lane, until: deadline)
        guard let budget = outlet.budget, grant != .none else {
            return grant == .none ? nil : PulledPlaces(outlet: outlet, lane: lane, count: grant.pushes)
        }
        let affordable = await budget.take(upTo: grant.pushes, for: lane, until: deadline)
        outlet.window.release(PulledPlaces.grant(grant.pushes - affordable), of: lane)
        return affordable > 0 ? PulledPlaces(outlet: outlet, lane: lane, count: affordable) : nil
    }
}
