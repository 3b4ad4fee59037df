import AMQP
import BellhopRules
import HTTPServer
import Pipeline
import Push
import ServiceRuntime
import Store

/// The command `bellhop worker [--lanes urgent,normal,bulk] [--number N] [--until-stdin-ends]`.
struct WorkerCommand: Command {
    static let name = "worker"
    static let summary = "Takes events off the lanes and records what each user shall find in the app."
    static let isRole = true
    static let synopsis = ["worker [--lanes urgent,normal,bulk] [--number N] [--until-stdin-ends]"]
    static let options = [
        Option.taking("lanes", "LIST", "the lanes to serve; all three unless given"),
        Option.taking("number", "N", "its number among several, for the log"),
        Option.switch("until-stdin-ends", "drain too when stdin ends, so that it cannot outlive its pool"),
    ]

    private let words: Words
    private let lanes: [Lane]
    private let number: Int?

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        self.words = words
        lanes = try words.lanes(of: Self.name)
        number = try words.number("number", in: 0...99_999, of: Self.name)
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.amqpURL, .databaseURL, .catalogs])
        let process = try RoleProcess(configuration, role: Self.name, connections: 2 * lanes.count + 3, number: number)
        let catalogs = try process.footing.catalogs()
        try await process.verifyGround(catalogs)
        return try await serve(process, catalogs)
    }

    /// A function of its own: in one with the checks before it, Swift 6.3.1 crashes when it optimises.
    private func serve(_ process: RoleProcess, _ catalogs: CatalogSet) async throws -> ExitCode {
        let configuration = process.footing.configuration
        let broker = try process.footing.broker()
        let publisher = Publisher(
            PublisherOptions(
                broker: broker,
                name: "bellhop worker, publishing",
                presence: process.presence,
                observer: process.observe("publisher")
            )
        )
        publisher.start()
        let senders = try process.pushSenders()
        let source = CatalogSource(catalogs)
        let store = PostgresStore(pool: process.pool, lease: process.footing.policy.lease)
        let breakers = Breakers(store: store, time: process.time, logger: process.logger, metrics: process.metrics)
        let tools = WorkerTools(
            store: store,
            publisher: publisher,
            names: process.footing.names,
            senders: SenderDirectory(
                senders.senders,
                mail: senders.emailSenders,
                prefetch: Self.prefetch(configuration)
            ),
            breakers: breakers,
            policy: process.footing.policy
        )
        let context = PipelineContext(
            time: process.time,
            logger: process.logger,
            metrics: PipelineMetrics(process.metrics)
        )
        let intake = Intake(catalogs: source, zones: process.zones, tools: tools, context: context)
        let receipts = ReceiptWorker(
            consumer: receiptConsumer(process, broker),
            sources: senders.receipts,
            catalogs: source,
            tools: tools,
            context: context
        )
        var workers = lanes.map { lane in worker(for: lane, process, broker, intake) }
        if lanes.contains(.bulk) { workers.append(replayWorker(process, broker, intake)) }
        let checks = workers.map { worker in
            ReadinessCheck(worker.name) { worker.isReady ? nil : "it does not consume" }
        }
        let ending = await process.run(
            workers + [receipts, BreakerWatch(breakers), intake.report, process.reload(of: source)],
            listen: configuration.metricsListen,
            untilInputEnds: words.has("until-stdin-ends"),
            checks: checks + [
                ReadinessCheck(receipts.name) { receipts.isReady ? nil : "it does not consume" },
                ReadinessCheck("publisher") { publisher.isConnected ? nil : "it is not connected" },
                ReadinessCheck("database") { [pool = process.pool] in await pool.ping() ? nil : "it does not answer" },
            ]
        )
        intake.report.tell()
        await senders.close()
        await publisher.close()
        return ending
    }

    private static func prefetch(_ configuration: BellhopConfiguration) -> [Lane: Int] {
        let (usual, urgent) = (Int(configuration.prefetch.usual), Int(configuration.prefetch.urgent))
        return [.urgent: urgent, .normal: usual, .bulk: usual]
    }

    private func receiptConsumer(_ process: RoleProcess, _ broker: BrokerAddress) -> Consumer {
        Consumer(
            ConsumerOptions(
                broker: broker,
                name: "bellhop worker, receipts",
                subscriptions: [.init(queue: process.footing.names.receipts, prefetch: 16)],
                presence: process.presence,
                observer: process.observe("receipts")
            )
        )
    }

    /// Replays have a connection and batches of their own, one at a time, so that live traffic does not feel them; their
    /// pushes count as bulk.
    private func replayWorker(_ process: RoleProcess, _ broker: BrokerAddress, _ intake: Intake) -> LaneWorker {
        let configuration = process.footing.configuration
        let consumer = Consumer(
            ConsumerOptions(
                broker: broker,
                name: "bellhop worker, replays",
                subscriptions: [
                    .init(
                        queue: process.footing.names.replay,
                        prefetch: min(configuration.batch, Int(configuration.prefetch.usual))
                    )
                ],
                presence: process.presence,
                observer: process.observe("replays")
            )
        )
        return LaneWorker(
            lane: .bulk,
            name: "replays",
            consumer: consumer,
            intake: intake,
            limits: .init(batch: configuration.batch, batchesAtOnce: 1)
        )
    }

    private func worker(
        for lane: Lane,
        _ process: RoleProcess,
        _ broker: BrokerAddress,
        _ intake: Intake
    ) -> LaneWorker {
        let configuration = process.footing.configuration
        let prefetch = Self.prefetch(configuration)[lane] ?? 1
        let consumer = Consumer(
            ConsumerOptions(
                broker: broker,
                name: "bellhop worker, \(lane.rawValue) lane",
                subscriptions: [process.footing.names.lane(lane), process.footing.names.resume(lane)].map { queue in
                    .init(queue: queue, prefetch: prefetch)
                },
                presence: process.presence,
                observer: process.observe("\(lane.rawValue) lane")
            )
        )
        return LaneWorker(
            lane: lane,
            consumer: consumer,
            intake: intake,
            limits: .init(batch: configuration.batch)
        )
    }
}
