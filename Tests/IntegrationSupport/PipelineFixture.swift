package import AMQP
package import BellhopRules
import Foundation
package import Pipeline
package import Push
package import ServiceRuntime
import Settings
package import Store
import TestSupport
package import Tracing

/// A worker and a dead-letter filer inside the test process, on a fixture's broker and schema.
package struct PipelineFixture: Sendable {
    package let servers: ServerFixture
    package let publisher: Publisher
    package let metrics = MetricsRegistry()
    /// The worker's outlets.
    package let outlets: Outlets
    private let store: WorkerStore
    private let outfit: Outfit
    private let drain = DrainSignal()
    private let catalogs: CatalogSource
    private let zones = ZoneLibrary(environment: ProcessInfo.processInfo.environment)

    /// The worker's providers, and the times of its receipt queries.
    package struct Outfit: Sendable {
        package var senders: [AppID: [PushProvider: any PushSender]]
        package var mail: [AppID: EmailSender] = [:]
        package var receipts: [AppID: any ReceiptSource] = [:]
        /// The receipt queries, which are early enough for a test.
        package var looks = ReceiptPolicy(firstLook: .milliseconds(200), pause: .milliseconds(200))
        /// Whether dead letters are filed; otherwise they stay in their queue.
        package var hasClerk = true
        /// The age at which the sweeper considers a delivery stranded.
        ///
        /// It is the same as in production, so that a slow machine does not strand deliveries. A test that needs it
        /// moves the timestamps of the rows.
        package var grace = Duration.seconds(300)
        /// A page size at which a few followers make many pages.
        package var usersPerPage = 7
        /// The notifier of inbox changes.
        package var herald: InboxChangeNotifier?
        /// The tracer that receives the spans.
        package var tracer: Tracer?
        /// The clock of the workers' decisions.
        package var time: any TimeSource = SystemTime()
        /// The check that keeps workers from deciding with a wrong clock.
        package var clocks: ClockWatch?

        package init(senders: [AppID: [PushProvider: any PushSender]] = [:]) {
            self.senders = senders
        }
    }

    private init(servers: ServerFixture, publisher: Publisher, outfit: Outfit) {
        self.servers = servers
        self.publisher = publisher
        self.outfit = outfit
        catalogs = CatalogSource(servers.catalogs)
        store = WorkerStore(
            pool: servers.pool,
            lease: Self.lease,
            firstPause: .milliseconds(500),
            usersPerPage: outfit.usersPerPage
        )
        outlets = Outlets(
            outfit.senders,
            mail: outfit.mail,
            prefetch: [.urgent: 1024, .normal: 1024, .bulk: 1024],
            context: .init(store: store, logger: Self.logger, metrics: metrics)
        )
    }

    /// The lease, as in production, so that no claim ends because the machine is slow.
    ///
    /// A test that needs its end moves the timestamps of the rows (``ServerFixture/pass(_:since:in:where:_:)``).
    package static let lease = Duration.seconds(60)

    /// The maximum age of replayed dead letters, as with the default settings.
    package static let horizon = ReplayHorizon(span: .seconds(30 * 86_400), lead: .seconds(86_400))

    /// Runs a body together with a worker of all lanes, a dead-letter filer and a sweeper, and drains them afterwards.
    package static func on<Value: Sendable>(
        _ servers: ServerFixture,
        outfit: Outfit = Outfit(),
        _ body: @escaping @Sendable (PipelineFixture) async throws -> Value
    ) async throws -> Value {
        let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test, publishing"))
        publisher.start()
        let pipeline = PipelineFixture(servers: servers, publisher: publisher, outfit: outfit)
        try await pipeline.outlets.load()
        let watch = OutletRefresher(pipeline.outlets, interval: .milliseconds(200))
        let worker = pipeline.worker
        let workers: [any Service] = try pipeline.lanes(worker) + [try pipeline.receipts(worker)]
        let clerks: [any Service] = outfit.hasClerk ? [try pipeline.clerk()] : []
        let services: [any Service] = workers + [watch] + clerks + pipeline.duties()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services {
                group.addTask { try await service.run(until: pipeline.drain) }
            }
            let result: Result<Value, any Error>
            do { result = .success(try await body(pipeline)) } catch { result = .failure(error) }
            pipeline.drain.fire()
            try await group.waitForAll()
            await publisher.close()
            return try result.get()
        }
    }

    private var context: PipelineContext {
        PipelineContext(
            time: outfit.time,
            logger: Self.logger,
            metrics: PipelineMetrics(metrics),
            inboxChanges: outfit.herald,
            tracer: outfit.tracer,
            clocks: outfit.clocks
        )
    }

    private static var logger: Logger { Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)) }

    private var policy: DeliveryPolicy {
        DeliveryPolicy(
            ladder: RetryLadder(tiers: ServerFixture.tiers, limit: 2),
            lease: Self.lease,
            receipts: outfit.looks
        )
    }

    private var worker: WorkerContext {
        WorkerContext(
            store: store,
            publisher: publisher,
            names: servers.names,
            outlets: outlets,
            policy: policy
        )
    }

    private func receipts(_ worker: WorkerContext) throws -> ReceiptWorker {
        let options = ConsumerOptions(
            broker: try servers.broker,
            name: "test, receipts",
            subscriptions: [.init(queue: servers.names.receipts, prefetch: 16)]
        )
        return ReceiptWorker(
            consumer: Consumer(options),
            sources: outfit.receipts,
            catalogs: catalogs,
            worker: worker,
            context: context
        )
    }

    private func lanes(_ worker: WorkerContext) throws -> [any Service] {
        let intake = Intake(catalogs: catalogs, zones: zones, worker: worker, context: context)
        let puller = intake.puller(for: Lane.allCases, every: .milliseconds(100))
        let replays = Consumer(
            ConsumerOptions(
                broker: try servers.broker,
                name: "test, replays",
                subscriptions: [.init(queue: servers.names.replay, prefetch: 256)]
            )
        )
        let replayLane = LaneWorker(
            lane: .bulk,
            name: "replays",
            consumer: replays,
            intake: intake,
            limits: .init(batch: 256, batchesAtOnce: 1)
        )
        let lanes: [any Service] = try Lane.allCases.map { lane in
            let consumer = Consumer(
                ConsumerOptions(
                    broker: try servers.broker,
                    name: "test, \(lane.rawValue)",
                    subscriptions: [servers.names.lane(lane), servers.names.resume(lane)].map {
                        .init(queue: $0, prefetch: 1024)
                    }
                )
            )
            return LaneWorker(lane: lane, consumer: consumer, intake: intake, limits: .init(batch: 256))
        }
        return lanes + [replayLane, puller]
    }

    private func clerk() throws -> DeadLetterFiler {
        let options = ConsumerOptions(
            broker: try servers.broker,
            name: "test, clerk",
            subscriptions: [.init(queue: servers.names.dead, prefetch: 1000)]
        )
        return DeadLetterFiler(context: scheduler, makeConsumer: { Consumer(options) })
    }

    private var scheduler: SchedulerContext {
        SchedulerContext(
            pool: servers.pool,
            publisher: publisher,
            names: servers.names,
            logger: Self.logger,
            metrics: metrics
        )
    }

    /// Returns the scheduler's duties, at a pace for tests.
    private func duties() -> [any Service] {
        let context = scheduler
        let interval = Duration.milliseconds(100)
        let release = DueDeliveryDuty(context: context, rhythm: .init(interval: interval, grace: outfit.grace))
        return [
            release,
            ForgottenClaimDuty(
                context: context,
                rhythm: .init(step: interval, rest: interval, lease: Self.lease, grace: outfit.grace),
                beside: release
            ),
            ReceiptDuty(context: context, interval: interval),
            FanoutPageDuty(context: context, interval: interval, grace: outfit.grace),
            DueEventDuty(context: context, interval: interval),
            BadgeDuty(context: context, rhythm: .init(interval: interval, calm: interval)),
            ReminderDuty(context: context, catalogs: catalogs, zones: zones, interval: interval),
            ReplayRunner(context: context, horizon: Self.horizon, interval: interval),
            // Longer than a statement takes that began before an erasure, on a loaded machine, too.
            ErasureDuty(context: context, interval: interval, patience: .seconds(5)),
        ]
    }

    // MARK: - What tests do

    /// Whether the body has ended.
    package var isDraining: Bool { drain.isDraining }

    /// Publishes through the events exchange and requires the broker's confirm for each message.
    package func publish(_ messages: [OutgoingMessage]) async throws {
        let outcomes = await publisher.publish(messages)
        if let failure = outcomes.first(where: { $0 != .confirmed }) {
            throw ServerFixtureError("a message was not confirmed: \(failure)")
        }
    }

    package func event(
        _ body: String,
        key: String,
        properties: MessageProperties = MessageProperties()
    ) -> OutgoingMessage {
        OutgoingMessage(exchange: servers.names.events, routingKey: key, properties: properties, body: Array(body.utf8))
    }

    /// Waits for a number in the database.
    package func wait(for expected: Int, _ sql: String) async throws {
        var found = -1
        try await eventually("\(expected) from \(sql), found \(found)") {
            found = try await servers.count(sql)
            return found >= expected
        }
        guard found == expected else { throw ServerFixtureError("expected \(expected) from \(sql), found \(found)") }
    }
}
