import BellhopRules
import ServiceRuntime
import Store

/// The way of pulled deliveries: looked up, decided anew, sent in the places that were taken for them, settled.
///
/// No message of the broker is behind them: whatever ends it, the ledger tells what is still owed.
struct BacklogCarrier: Sendable {
    let catalogs: CatalogSource
    let zones: ZoneLibrary
    let senders: SenderDirectory
    let resumption: Resumption
    let dispatcher: Dispatcher
    let settler: Settler
    let context: PipelineContext

    /// What all loads work under.
    struct Shift: Sendable {
        let drain: DrainSignal
        /// What is under way to its providers.
        let loads = Asides()
        /// What these leave aside.
        let asides = Asides()

        init(_ drain: DrainSignal) {
            self.drain = drain
        }

        /// Returns when less is in hand than may be, on its way and left aside.
        func room() async {
            await loads.room()
            await asides.room()
        }

        /// Runs a body, and returns when all that it has begun is settled.
        func run(_ body: () async -> Void) async {
            await withDiscardingTaskGroup { group in
                group.addTask { await asides.run() }
                await withDiscardingTaskGroup { group in
                    group.addTask { await loads.run() }
                    await body()
                    loads.finish()
                }
                asides.finish()
            }
        }
    }

    /// Those that this worker can send through.
    var outlets: [OutletKey] { senders.keys }

    func serves(_ key: BacklogKey) -> Bool { senders.outlet(OutletKey(key)) != nil }

    /// What is about to be sent of a load.
    struct Ready: Sendable {
        fileprivate let batch: Batch
        fileprivate let places: PulledPlaces
        /// What goes the way that the backlog waits for.
        fileprivate let own: [Shipment]
        /// What goes another way: its device has changed its provider, or its platform.
        fileprivate let strays: [Shipment]
        fileprivate let withheld: [Disposition]
        /// Bytes of what the notifications say.
        let footprint: Int

        /// Whether anything uses the places that were taken.
        var isSent: Bool { !own.isEmpty }
    }

    /// Looks up and decides anew; nil where a drain comes before that: it is left under its claim, as by a worker that died.
    ///
    /// One load after the other, so that they begin to be sent in their order.
    func prepare(_ load: BacklogLoad, _ shift: Shift) async -> Ready? {
        let lane = load.place.priority.lane
        let batch = Batch(carrying: load.claim, lane: lane, shift.drain, shift.asides, context)
        let decider = Decider(catalogs: catalogs.current, senders: senders, zones: zones, now: batch.now)
        guard let work = await resumption.decide(load.lines, under: load.lease, decider, batch) else {
            dispatcher.give(back: load.places)
            return nil
        }
        let isOwn = { (shipment: Shipment) in load.place.key.isOf(shipment) }
        let putOff = putOff(work.stuck, of: load)
        return Ready(
            batch: batch,
            places: load.places,
            own: work.shipments.filter(isOwn),
            strays: work.shipments.filter { !isOwn($0) },
            withheld: work.withheld + putOff,
            footprint: work.footprint
        )
    }

    /// Takes out of the backlog, for a minute, what the database fails on alone.
    ///
    /// At the head of the backlog, such deliveries would be pulled repeatedly. Their resumes arrive as messages, which are set
    /// aside if the database continues to fail.
    private func putOff(_ stuck: [(key: NotificationKey, why: String)], of load: BacklogLoad) -> [Disposition] {
        guard let (_, why) = stuck.first else { return [] }
        let keys = Set(stuck.map(\.key))
        let lines = load.lines.filter { keys.contains($0.key.notification) }
        context.logger.warning(
            "the database fails on deliveries alone, taking them out of their backlog for a minute",
            ["backlog": .text(load.place.key.text), "count": .integer(lines.count), "error": .text(why)]
        )
        for _ in lines { context.metrics.setAside.count("backlogs") }
        return lines.map { .putOff($0.key, because: Settlement.lookUpFailed) }
    }

    /// Returns when all of it is settled.
    func send(_ ready: Ready, probing breaker: BreakerKey? = nil) async {
        let batch = ready.batch
        let ended: Dispatcher.Ended = { await settler.settle($0, batch) }
        async let strayed: Void = ready.strays.isEmpty ? () : dispatcher.send(ready.strays, lane: batch.lane, ended)
        async let sent: Void = dispatcher.send(ready.own, in: ready.places, probing: breaker, ended)
        await settler.settle(ready.withheld, batch)
        _ = await (strayed, sent)
    }
}

extension BacklogKey {
    /// Whether a shipment goes the way that this backlog waits for.
    fileprivate func isOf(_ shipment: Shipment) -> Bool {
        OutletKey(self) == shipment.outlet && (platform == nil || platform == shipment.platform)
    }
}
