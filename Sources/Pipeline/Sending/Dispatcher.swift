import BellhopRules
import Push
import ServiceRuntime
import Store
import Tracing

/// Sends shipments, each through its own provider's window, and tells part by part what becomes of them.
///
/// What cannot be started at once goes into its outlet's backlog, and from there comes back in its turn.
struct Dispatcher: Sendable {
    let senders: SenderDirectory
    let breakers: Breakers
    let budgets: BudgetMeter
    let backlogs: Backlogs
    let policy: DeliveryPolicy
    let context: PipelineContext

    /// Told of the deliveries of each part as soon as that has come to its end, several parts at a time.
    typealias Ended = @Sendable ([Disposition]) async -> Void

    /// What an outlet cannot start in this time waits in the ledger: a slow provider must not hold what belongs to the others.
    private static let patience = Duration.seconds(1)

    /// What goes to one outlet.
    private struct OutletTurn: Sendable {
        let key: OutletKey
        let outlet: SenderDirectory.Outlet
        let lane: Lane
        let sentAt: Timestamp
        /// The page of a fan-out that it came of, where somebody traces it.
        var page: SpanContext?
        let ended: Ended
    }

    /// Returns after the last part has ended.
    ///
    /// Parts that wait for their provider hold no others up: neither those of other providers nor those that their own
    /// provider could not start.
    func send(_ shipments: [Shipment], lane: Lane, on page: SpanContext? = nil, _ ended: @escaping Ended) async {
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

    /// Sends what was pulled from one backlog, in places that were taken for it before; places that it does not need are
    /// given back at once.
    ///
    /// `probe` is the breaker that it is to try.
    func send(
        _ shipments: [Shipment],
        in places: PulledPlaces,
        probing probe: BreakerKey? = nil,
        _ ended: @escaping Ended
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

    /// Gives back places of pulled messages that nothing is sent in, with what of the budget was taken for them.
    func give(back count: Int, of places: PulledPlaces, _ outlet: SenderDirectory.Outlet) {
        guard count > 0 else { return }
        outlet.window.release(Self.grant(count), of: places.lane)
        if let budget = outlet.budget { budgets.giveBack(count, of: budget, for: places.lane) }
    }

    private static func grant(_ count: Int) -> SendWindow.Grant { SendWindow.Grant(pushes: count, messages: 0) }

    /// Those of one message side by side, as windows count them.
    private static func sorted(_ shipments: [Shipment]) -> [Shipment] {
        let isSorted = zip(shipments, shipments.dropFirst()).allSatisfy { $0.index <= $1.index }
        return isSorted ? shipments : shipments.sorted { $0.index < $1.index }
    }

    /// Those that nothing keeps from their outlet; the others wait in its backlog, or in that of their platform: behind
    /// what holds them up, or behind those that `ahead` tells of.
    private func free(
        of shipments: [Shipment],
        _ turn: OutletTurn,
        ahead: (Shipment) -> BacklogKey?
    ) async -> [Shipment] {
        var free: [Shipment] = []
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
        _ shipments: [Shipment],
        _ backlog: BacklogKey,
        _ lane: Lane,
        _ why: Hindrance
    ) -> [Disposition] {
        shipments.flatMap { $0.put(into: backlog, from: lane, because: why) }
    }

    /// First the places, then the budget's shares for them: what is drawn is lost to all workers where nothing is sent.
    private func send(_ shipments: [Shipment], _ turn: OutletTurn) async {
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

    /// Sends what has its places, as its outlet's budget allows.
    private func send(
        _ shipments: ArraySlice<Shipment>,
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
                // A message of which something is left is held by what is left.
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

    /// Sends what still has the right to: a claim that is nearly over would be another's before the answer is there, and what
    /// waited for its place may be held by now.
    private func start(
        _ shipments: [Shipment],
        _ turn: OutletTurn,
        under grant: SendWindow.Grant,
        probing breaker: BreakerKey? = nil
    ) async {
        let now = context.time.steady()
        let hasLapsed = { (shipment: Shipment) in shipment.lease?.hasLasted(policy.beginsWithin, at: now) ?? false }
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
        var answered: [(shipment: Shipment, verdict: Verdict)] = []
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
    /// Those that no operator holds at this moment, and what becomes of the others.
    private func braked(_ shipments: [Shipment], _ turn: OutletTurn) -> (free: [Shipment], held: [Disposition]) {
        guard !breakers.brakes.isClear(turn.key.app) else { return (shipments, []) }
        var (free, held): ([Shipment], [Disposition]) = ([], [])
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

/// Places of a window, and of its budget, for what is pulled from a backlog.
struct PulledPlaces: Sendable {
    let key: OutletKey
    let lane: Lane
    let count: Int
}

extension Dispatcher {
    /// Places for the next of a backlog, as many as are to be had in a second, and nil where that is none.
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

    /// Gives back what nothing is sent in.
    func give(back places: PulledPlaces) {
        guard let outlet = senders.outlet(places.key) else { return }
        give(back: places.count, of: places, outlet)
    }
}
