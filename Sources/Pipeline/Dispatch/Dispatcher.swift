import BellhopRules
import Push
import Store

/// Sends parcels, each through its own provider's window, and tells part by part what came of them.
struct Dispatcher: Sendable {
    let senders: SenderDirectory
    let breakers: Breakers
    let budgets: BudgetMeter

    /// What came of some parcels, by their positions among those that were handed over.
    typealias Part = [(position: Int, arrival: Arrival)]

    /// Told of each part as soon as it has come to its end, several at a time.
    typealias Ended = @Sendable (Part) async -> Void

    /// What a window cannot start in this time goes back: a slow provider must not hold what belongs to the others.
    private static let patience = Duration.seconds(1)

    /// Returns after the last part has ended.
    ///
    /// Parts that wait for their provider hold no others up: neither those of other providers nor those that their own
    /// provider could not start.
    func send(_ parcels: [Parcel], lane: Lane, _ ended: @escaping Ended) async {
        let groups = Dictionary(grouping: parcels.indices) { parcels[$0].outlet }
        await withDiscardingTaskGroup { tasks in
            for (key, positions) in groups {
                tasks.addTask {
                    guard let outlet = senders.outlet(key) else {
                        return await ended(positions.map { ($0, .notStarted) })
                    }
                    let byMessage = positions.sorted { (parcels[$0].index, $0) < (parcels[$1].index, $1) }
                    let errand = Errand(parcels: parcels, key: key, outlet: outlet, lane: lane, ended: ended)
                    guard !breakers.isClear(key) else { return await send(errand, at: byMessage) }
                    await pass(errand, at: byMessage)
                }
            }
        }
    }

    /// What goes to one outlet.
    private struct Errand: Sendable {
        let parcels: [Parcel]
        let key: OutletKey
        let outlet: SenderDirectory.Outlet
        let lane: Lane
        let ended: Ended
    }

    /// Something keeps messages from this outlet: those that it concerns wait, but for one that may find out.
    private func pass(_ errand: Errand, at positions: [Int]) async {
        var free: [Int] = []
        for (platform, concerned) in Dictionary(grouping: positions, by: { errand.parcels[$0].platform }) {
            switch await breakers.passage(errand.key, platform: platform) {
            case .free: free += concerned
            case .held(let hold): await errand.ended(concerned.map { ($0, .held(hold)) })
            case .probe(let breaker):
                // A stranger's token would prove nothing.
                let scout = concerned.first { errand.parcels[$0].wasReached } ?? concerned.first
                let others = concerned.filter { $0 != scout }
                let wait = Hold(cause: .breaker, wait: Self.probeTime)
                if !others.isEmpty { await errand.ended(others.map { ($0, .held(wait)) }) }
                if let scout { await send(errand, at: [scout], probing: breaker) }
            }
        }
        if !free.isEmpty { await send(errand, at: free.sorted()) }
    }

    /// How long the others wait while one message tries whether they may go.
    private static let probeTime = Duration.seconds(5)

    private func send(_ errand: Errand, at positions: [Int], probing breaker: BreakerKey? = nil) async {
        let outlet = errand.outlet
        let deadline = ContinuousClock.now + Self.patience
        await withDiscardingTaskGroup { tasks in
            var rest = positions[...]
            while !rest.isEmpty {
                let affordable = await afford(rest.count, errand, until: deadline)
                var paid = rest.prefix(affordable)
                while !paid.isEmpty {
                    let grant = await outlet.window.acquire(
                        paid.map { errand.parcels[$0].index },
                        for: errand.lane,
                        until: deadline,
                        patience: Self.patience
                    )
                    guard grant != .none else { break }
                    let part = paid.prefix(grant.pushes).map { ($0, errand.parcels[$0]) }
                    paid = paid.dropFirst(grant.pushes)
                    rest = rest.dropFirst(grant.pushes)
                    tasks.addTask {
                        let parcels = part.map(\.1)
                        let verdicts = await outlet.send(parcels)
                        outlet.window.release(grant, of: errand.lane)
                        let arrivals = await breakers.judge(verdicts, of: parcels, errand.key, probe: breaker)
                        await errand.ended(zip(part, arrivals).map { ($0.0, $1) })
                    }
                }
                guard paid.isEmpty, affordable > 0 else {
                    if let budget = outlet.budget { budgets.giveBack(paid.count, of: budget, for: errand.lane) }
                    break
                }
            }
            guard !rest.isEmpty else { return }
            await errand.ended(rest.map { ($0, .notStarted) })
        }
    }

    private func afford(_ count: Int, _ errand: Errand, until deadline: ContinuousClock.Instant) async -> Int {
        guard let budget = errand.outlet.budget else { return count }
        return await budgets.take(upTo: count, of: budget, for: errand.lane, until: deadline)
    }
}
