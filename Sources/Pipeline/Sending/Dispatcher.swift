import BellhopRules
import Push
import ServiceRuntime
import Store

/// Sends shipments, each through its own provider's window, and tells part by part what becomes of them.
struct Dispatcher: Sendable {
    let senders: SenderDirectory
    let breakers: Breakers
    let budgets: BudgetMeter
    let policy: DeliveryPolicy
    let context: PipelineContext

    /// Told of the deliveries of each part as soon as that has come to its end, several parts at a time.
    typealias Ended = @Sendable ([Disposition]) async -> Void

    /// What a window cannot start in this time goes back: a slow provider must not hold what belongs to the others.
    private static let patience = Duration.seconds(1)
    /// How long the others wait while one message tries whether they may go.
    private static let probeTime = Duration.seconds(5)

    /// What goes to one outlet.
    private struct OutletTurn: Sendable {
        let key: OutletKey
        let outlet: SenderDirectory.Outlet
        let lane: Lane
        let sentAt: Timestamp
        let ended: Ended
    }

    /// Returns after the last part has ended.
    ///
    /// Parts that wait for their provider hold no others up: neither those of other providers nor those that their own
    /// provider could not start.
    func send(_ shipments: [Shipment], lane: Lane, _ ended: @escaping Ended) async {
        let sentAt = Timestamp(clamping: context.time.now().microseconds)
        await withDiscardingTaskGroup { tasks in
            for (key, shipments) in Dictionary(grouping: shipments, by: \.outlet) {
                tasks.addTask {
                    guard let outlet = senders.outlet(key) else {
                        return await ended(shipments.flatMap { $0.unsent(policy.ladder.notStarted) })
                    }
                    let turn = OutletTurn(key: key, outlet: outlet, lane: lane, sentAt: sentAt, ended: ended)
                    let byMessage = Self.sorted(shipments)
                    guard !breakers.isClear(key) else { return await send(byMessage, turn) }
                    await pass(byMessage, turn)
                }
            }
        }
    }

    /// Those of one message side by side, as windows count them.
    private static func sorted(_ shipments: [Shipment]) -> [Shipment] {
        let isSorted = zip(shipments, shipments.dropFirst()).allSatisfy { $0.index <= $1.index }
        return isSorted ? shipments : shipments.sorted { $0.index < $1.index }
    }

    /// Something keeps messages from this outlet: those that it concerns wait, but for one that may find out.
    private func pass(_ shipments: [Shipment], _ turn: OutletTurn) async {
        var free: [Shipment] = []
        for (platform, concerned) in Dictionary(grouping: shipments, by: \.platform) {
            switch await breakers.passage(turn.key, platform: platform) {
            case .free: free += concerned
            case .held(let delay): await hold(concerned, delay, turn)
            case .probe(let breaker):
                // A stranger's token would prove nothing.
                let scout = concerned.first(where: \.wasReached) ?? concerned.first
                let others = concerned.filter { $0 !== scout }
                if !others.isEmpty { await hold(others, Delay(cause: .breaker, wait: Self.probeTime), turn) }
                if let scout { await send([scout], turn, probing: breaker) }
            }
        }
        if !free.isEmpty { await send(Self.sorted(free), turn) }
    }

    private func hold(_ shipments: [Shipment], _ delay: Delay, _ turn: OutletTurn) async {
        await turn.ended(shipments.flatMap { $0.unsent { policy.ladder.held($0, delay) } })
    }

    private func send(_ shipments: [Shipment], _ turn: OutletTurn, probing breaker: BreakerKey? = nil) async {
        let outlet = turn.outlet
        let deadline = context.time.steady() + Self.patience
        await withDiscardingTaskGroup { tasks in
            var rest = shipments[...]
            while !rest.isEmpty {
                let affordable = await afford(rest.count, turn, until: deadline)
                var paid = rest.prefix(affordable)
                while !paid.isEmpty {
                    let grant = await outlet.window.acquire(
                        paid.map(\.index),
                        for: turn.lane,
                        until: deadline,
                        patience: Self.patience
                    )
                    guard grant != .none else { break }
                    let part = paid.prefix(grant.pushes)
                    paid = paid.dropFirst(grant.pushes)
                    rest = rest.dropFirst(grant.pushes)
                    tasks.addTask { await start(Array(part), turn, under: grant, probing: breaker) }
                }
                guard paid.isEmpty, affordable > 0 else {
                    if let budget = outlet.budget { budgets.giveBack(paid.count, of: budget, for: turn.lane) }
                    break
                }
            }
            guard !rest.isEmpty else { return }
            await turn.ended(rest.flatMap { $0.unsent(policy.ladder.notStarted) })
        }
    }

    /// Sends what still has the right to: a claim that is nearly over would be another's before the answer is there.
    private func start(
        _ shipments: [Shipment],
        _ turn: OutletTurn,
        under grant: SendWindow.Grant,
        probing breaker: BreakerKey?
    ) async {
        let now = context.time.steady()
        let hasLapsed = { (shipment: Shipment) in shipment.lease?.hasLasted(policy.beginsWithin, at: now) ?? false }
        let lapsed = shipments.filter(hasLapsed)
        let timely = lapsed.isEmpty ? shipments : shipments.filter { !hasLapsed($0) }
        let verdicts = timely.isEmpty ? [] : await turn.outlet.send(timely)
        turn.outlet.window.release(grant, of: turn.lane)
        if !lapsed.isEmpty {
            if let budget = turn.outlet.budget { budgets.giveBack(lapsed.count, of: budget, for: turn.lane) }
            await turn.ended(lapsed.flatMap { $0.unsent(policy.ladder.lapsed) })
        }
        guard !timely.isEmpty else { return }
        let rulings = await breakers.judge(verdicts, of: timely, turn.key, probe: breaker)
        var answered: [(shipment: Shipment, verdict: Verdict)] = []
        answered.reserveCapacity(timely.count)
        var held: [Disposition] = []
        for (shipment, ruling) in zip(timely, rulings) {
            if let ruling {
                answered.append((shipment, ruling))
            } else {
                held += shipment.unsent { policy.ladder.held($0, breakers.pause) }
            }
        }
        await turn.ended(policy.dispositions(of: answered, sentAt: turn.sentAt, using: context.chance) + held)
    }

    private func afford(_ count: Int, _ turn: OutletTurn, until deadline: ContinuousClock.Instant) async -> Int {
        guard let budget = turn.outlet.budget else { return count }
        return await budgets.take(upTo: count, of: budget, for: turn.lane, until: deadline)
    }
}
