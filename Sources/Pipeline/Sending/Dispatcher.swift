import BellhopRules
import Push
import Store

/// Sends parcels, each through its own provider's window, and tells part by part what came of them.
struct Dispatcher: Sendable {
    let senders: SenderDirectory
    let breakers: Breakers
    let budgets: BudgetMeter
    /// Within what time of its claim a delivery must begin.
    let beginsWithin: Duration

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
                    let part = paid.prefix(grant.pushes).map { (position: $0, parcel: errand.parcels[$0]) }
                    paid = paid.dropFirst(grant.pushes)
                    rest = rest.dropFirst(grant.pushes)
                    tasks.addTask { await start(part, errand, under: grant, probing: breaker) }
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

    /// Sends what still has the right to: a claim that is nearly over would be another's before the answer is there.
    private func start(
        _ part: [(position: Int, parcel: Parcel)],
        _ errand: Errand,
        under grant: SendWindow.Grant,
        probing breaker: BreakerKey?
    ) async {
        let now = ContinuousClock.now
        var (timely, lapsed) = (part, [Int]())
        timely.removeAll { position, parcel in
            guard parcel.lease?.hasLasted(beginsWithin, at: now) ?? false else { return false }
            lapsed.append(position)
            return true
        }
        let parcels = timely.map(\.parcel)
        let verdicts = parcels.isEmpty ? [] : await errand.outlet.send(parcels)
        errand.outlet.window.release(grant, of: errand.lane)
        if !lapsed.isEmpty {
            if let budget = errand.outlet.budget { budgets.giveBack(lapsed.count, of: budget, for: errand.lane) }
            await errand.ended(lapsed.map { ($0, .lapsed) })
        }
        guard !parcels.isEmpty else { return }
        let arrivals = await breakers.judge(verdicts, of: parcels, errand.key, probe: breaker)
        await errand.ended(zip(timely, arrivals).map { ($0.position, $1) })
    }

    private func afford(_ count: Int, _ errand: Errand, until deadline: ContinuousClock.Instant) async -> Int {
        guard let budget = errand.outlet.budget else { return count }
        return await budgets.take(upTo: count, of: budget, for: errand.lane, until: deadline)
    }
}
