import BellhopRules
import ServiceRuntime
import Settings
import Store

/// Processes pulled deliveries: looks them up, decides them again, sends them within their reserved places and settles
/// them.
///
/// No broker message corresponds to them. If processing ends early, the ledger still contains the open deliveries.
struct PulledDeliverySender: Sendable {
    let catalogs: CatalogSource
    let zones: ZoneLibrary
    /// The outlets that are configured.
    let outlets: Set<OutletKey>
    let resumption: ResumeStage
    let dispatcher: Dispatcher
    let settler: Settler
    let context: PipelineContext

    /// The tasks and the drain signal that all loads share.
    struct Context: Sendable {
        let drain: DrainSignal
        /// The loads in flight to their providers.
        let loads = DetachedWork()
        /// The work that these loads set aside.
        let detached = DetachedWork()

        init(_ drain: DrainSignal) {
            self.drain = drain
        }

        /// Returns when the loads in flight and the work set aside are below their limits.
        func room() async {
            await loads.room()
            await detached.room()
        }

        /// Runs a body, and returns when everything that it started is settled.
        func run(_ body: () async -> Void) async {
            await withDiscardingTaskGroup { group in
                group.addTask { await detached.run() }
                await withDiscardingTaskGroup { group in
                    group.addTask { await loads.run() }
                    await body()
                    loads.finish()
                }
                detached.finish()
            }
        }
    }

    /// The part of a load that is about to be sent.
    struct Ready: Sendable {
        fileprivate let batch: Batch
        fileprivate let places: PulledPlaces
        /// Shipments to the outlet and platform of the backlog.
        fileprivate let own: [OutgoingDelivery]
        /// Shipments to another outlet or platform, because the device has changed its provider or platform.
        fileprivate let strays: [OutgoingDelivery]
        fileprivate let withheld: [Disposition]
        /// The size of the notifications' texts in bytes.
        let footprint: Int

        /// Whether any shipment uses the reserved places.
        var isSent: Bool { !own.isEmpty }
    }

    /// Looks a load up and decides it again; `nil` if a drain comes first.
    ///
    /// Such a load keeps its claim, like that of a dead worker.
    ///
    /// Loads are prepared in turn, so that their sends begin in order.
    func prepare(_ load: PulledBatch, _ pulls: Context) async -> Ready? {
        let lane = load.place.priority.lane
        let batch = Batch(carrying: load.claim, lane: lane, pulls.drain, pulls.detached, context)
        let decider = Decider(catalogs: catalogs.current, outlets: outlets, zones: zones, now: batch.now)
        guard let (work, stuck) = await resumption.decide(load.lines, under: load.lease, decider, batch) else {
            load.places.giveBack()
            return nil
        }
        let isOwn = { (shipment: OutgoingDelivery) in load.place.key.isOf(shipment) }
        // At the head of the backlog, such deliveries would be pulled repeatedly.
        let putOff = resumption.putOff(load.lines, stuck, in: batch, load.place.key.text)
        for _ in putOff { context.metrics.setAside.count("backlogs") }
        return Ready(
            batch: batch,
            places: load.places,
            own: work.shipments.filter(isOwn),
            strays: work.shipments.filter { !isOwn($0) },
            withheld: work.withheld + putOff,
            footprint: work.footprint
        )
    }

    /// Sends a load and returns when all of it is settled.
    func send(_ ready: Ready, probing breaker: BreakerKey? = nil) async {
        let batch = ready.batch
        let ended: Dispatcher.CompletionHandler = { await settler.settle($0, batch) }
        async let strayed: Void = ready.strays.isEmpty ? () : dispatcher.send(ready.strays, lane: batch.lane, ended)
        async let sent: Void = dispatcher.send(ready.own, in: ready.places, probing: breaker, ended)
        await settler.settle(ready.withheld, batch)
        _ = await (strayed, sent)
    }
}

extension BacklogKey {
    /// Whether a shipment goes to the outlet and platform of this backlog.
    fileprivate func isOf(_ shipment: OutgoingDelivery) -> Bool {
        OutletKey(self) == shipment.outlet && (platform == nil || platform == shipment.platform)
    }
}
