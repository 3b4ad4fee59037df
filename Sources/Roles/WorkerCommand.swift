import AMQP
import BellhopRules
package import CLI
import HTTPServer
import Pipeline
import Push
package import ServiceRuntime
import Settings
import Store

/// The command `bellhop worker [--lanes urgent,normal,bulk] [--number N] [--until-stdin-ends]`.
package enum WorkerCommand: Command {
    package static let name = "worker"
    package static let summary = "Consumes events, records notifications and sends them."
    package static let isRole = true
    package static let synopsis = ["worker [--lanes urgent,normal,bulk] [--number N] [--until-stdin-ends]"]
    package static let options = [
        Option.taking("lanes", "LIST", "lanes to serve (default: all three)"),
        Option.taking("number", "N", "its number among several, for the log"),
        .untilStdinEnds,
    ]

    package static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let lanes = try call.words.lanes()
        let number = try call.words.number("number", in: 0...99_999)
        let setup = try call.setup(requiring: [.amqpURL, .databaseURL, .catalogs])
        let process = try RoleProcess(setup, role: name, connections: 2 * lanes.count + 4, number: number)
        let catalogs = try setup.catalogs()
        try await process.expectReady(catalogs)
        return try await serve(lanes, process, catalogs, untilInputEnds: call.words.has(Option.untilStdinEnds.name))
    }

    /// Runs the worker's services.
    ///
    /// This is a separate function because the optimiser of Swift 6.3.1 crashes if it also contains the checks before
    /// it.
    private static func serve(
        _ lanes: [Lane],
        _ process: RoleProcess,
        _ catalogs: CatalogSet,
        untilInputEnds: Bool
    ) async throws -> ExitCode {
        let configuration = process.setup.configuration
        let names = process.setup.names
        let publisher = try process.startPublisher()
        let senders = try process.pushSenders()
        let source = CatalogSource(catalogs)
        let store = WorkerStore(pool: process.pool, lease: process.setup.policy.lease)
        let outlets = Outlets(
            senders.senders,
            mail: senders.emailSenders,
            prefetch: prefetch(configuration),
            context: .init(store: store, logger: process.logger, metrics: process.metrics, time: process.time)
        )
        // Holds and reached devices must be known before anything is sent.
        try await outlets.load()
        let worker = WorkerContext(
            store: store,
            publisher: publisher,
            names: names,
            outlets: outlets,
            policy: process.setup.policy
        )
        let inboxChanges = process.herald()
        let heartbeat = try await process.claimantHeartbeat()
        let context = PipelineContext(
            time: process.time,
            logger: process.logger,
            metrics: PipelineMetrics(process.metrics),
            inboxChanges: inboxChanges,
            tracer: process.tracer,
            clocks: process.clocks,
            claimant: heartbeat.claimant
        )
        let intake = Intake(catalogs: source, zones: process.zones, worker: worker, context: context)
        let receipts = ReceiptWorker(
            consumer: try process.consumer("receipts", [.init(queue: names.receipts, prefetch: 16)])(),
            sources: senders.receipts,
            catalogs: source,
            worker: worker,
            context: context
        )
        let workers = try workers(for: lanes, process, intake, publisher)
        let checks = workers.map { worker in ReadinessCheck(worker.name) { process.problem(of: worker) } }
        let ending = await process.run(
            workers + [
                receipts, OutletRefresher(outlets), intake.puller(for: lanes), intake.report,
                process.reload(of: source), ClockDuty(process.clocks, endingAfter: ClockDuty.patience),
                intake.rollCall(
                    process.identity,
                    lanes: lanes,
                    book: HeartbeatStore(pool: process.pool),
                    figures: WorkerFigures(process.metrics)
                ) {
                    process.clocks.whatIsWrong ?? workers.lazy.compactMap(\.hindrance).first
                },
                inboxChanges, heartbeat,
            ],
            listen: configuration.metricsListen,
            untilInputEnds: untilInputEnds,
            checks: process.checks(publisher) + checks + [
                ReadinessCheck(receipts.name) { receipts.isReady ? nil : "not consuming" }
            ]
        )
        intake.report.tell()
        heartbeat.close()
        await senders.close()
        await publisher.close()
        return ending
    }

    private static func prefetch(_ configuration: BellhopConfiguration) -> [Lane: Int] {
        let (usual, urgent) = (Int(configuration.prefetch.usual), Int(configuration.prefetch.urgent))
        return [.urgent: urgent, .normal: usual, .bulk: usual]
    }

    private static func workers(
        for lanes: [Lane],
        _ process: RoleProcess,
        _ intake: Intake,
        _ publisher: MeteredPublisher
    ) throws -> [LaneWorker] {
        let cage = Canary.Shared(
            process: process.identity.id,
            book: HeartbeatStore(pool: process.pool),
            // Readiness reports a canary that finds no queue. It does not count as a lost message.
            publisher: publisher.publisher,
            names: process.setup.names
        )
        let workers = try lanes.map { lane in try worker(for: lane, process, intake, cage) }
        return lanes.contains(.bulk) ? workers + [try replayWorker(process, intake, cage)] : workers
    }

    /// Makes the worker of replays.
    ///
    /// It has its own connection and processes one batch at a time, so that replays do not slow live traffic. Replayed
    /// pushes count as bulk.
    private static func replayWorker(
        _ process: RoleProcess,
        _ intake: Intake,
        _ cage: Canary.Shared
    ) throws -> LaneWorker {
        let canary = Canary(for: "replay", of: cage)
        let configuration = process.setup.configuration
        let prefetch = min(configuration.batch, Int(configuration.prefetch.usual))
        var worker = LaneWorker(
            lane: .bulk,
            name: "replays",
            consumer: try process.consumer(
                "replays",
                [.init(queue: process.setup.names.replay, prefetch: prefetch), canary.subscription]
            )(),
            intake: intake,
            limits: .init(batch: configuration.batch, batchesAtOnce: 1, prefetch: prefetch)
        )
        worker.canary = canary
        return worker
    }

    private static func worker(
        for lane: Lane,
        _ process: RoleProcess,
        _ intake: Intake,
        _ cage: Canary.Shared
    ) throws -> LaneWorker {
        let configuration = process.setup.configuration
        let canary = Canary(for: lane.rawValue, of: cage)
        let prefetch = prefetch(configuration)[lane] ?? 1
        let names = process.setup.names
        let subscriptions = [names.lane(lane), names.resume(lane)].map { queue in
            ConsumerOptions.Subscription(queue: queue, prefetch: prefetch)
        }
        var worker = LaneWorker(
            lane: lane,
            consumer: try process.consumer("\(lane.rawValue) lane", subscriptions + [canary.subscription])(),
            intake: intake,
            limits: .init(batch: configuration.batch, prefetch: prefetch)
        )
        worker.canary = canary
        return worker
    }
}
