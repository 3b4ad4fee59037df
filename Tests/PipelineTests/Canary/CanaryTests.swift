import AMQP
import BellhopRules
import IntegrationSupport
import Pipeline
import Postgres
import ServiceRuntime
import Settings
import Store
import Synchronization
import TestSupport
import Testing

@Suite("A lane's canary", .limitedConcurrency, .enabled(if: serversAreThere, "needs both servers"), .timeLimit(.ofTest))
struct CanaryTests {
    @Test("a lane is ready when its canary has returned, which is not counted, dead-lettered or left on the broker")
    func proves() async throws {
        try await LaneFixture.with { fixture in
            try await fixture.waitUntilReady()
            let heard = try await fixture.servers.count("SELECT count(*) FROM processes WHERE heard_at IS NOT NULL")
            #expect(heard == 1)
            let text = fixture.metrics.text()
            #expect(text.contains("bellhop_batch_messages_count 0"))
            #expect(!text.contains("bellhop_notifications_total{"))
            // The next canary may be in flight already.
            try await eventually("it is back") {
                fixture.metrics.text().contains("bellhop_canary_age_seconds{lane=\"normal\"} 0\n")
            }
            let dead = try await fixture.servers.count("SELECT count(*) FROM dead_letters")
            #expect(dead == 0)
        }
    }

    @Test("a lane that has stopped taking messages is found by its canary, and is ready again when it takes them")
    func stuck() async throws {
        try await LaneFixture.with { fixture in
            try await fixture.waitUntilReady()
            try await RowLock.hold(on: fixture.servers, "LOCK TABLE people IN ACCESS EXCLUSIVE MODE") {
                // One batch after another, until both places of the lane are taken.
                for number in 0..<2 {
                    try await fixture.publish("stuck\(number)")
                    try await fixture.waitForStatements(number + 1)
                }
                fixture.time.skip(.seconds(20))
                try await eventually("the canary is missed") {
                    fixture.worker.whatIsWrong?.contains("in flight for") ?? false
                }
                #expect(fixture.worker.whatIsWrong?.hasSuffix("not consumed") == true)
                try await eventually("its age is told") {
                    !fixture.metrics.text().contains("bellhop_canary_age_seconds{lane=\"normal\"} 0\n")
                }
            }
            try await fixture.waitUntilReady()
            try await eventually("both events are recorded") {
                try await fixture.servers.count("SELECT count(*) FROM notifications") == 2
            }
        }
    }

    @Test("a worker is not ready while the database rejects writes, although its lane takes messages")
    func database() async throws {
        try await LaneFixture.with { fixture in
            try await fixture.waitUntilReady()
            try await RowLock.hold(on: fixture.servers, "LOCK TABLE processes IN ACCESS EXCLUSIVE MODE") {
                fixture.time.skip(.seconds(20))
                try await eventually("the canary finds it") {
                    fixture.time.skip(.seconds(2))
                    return fixture.worker.whatIsWrong?.contains("the database write failed") ?? false
                }
            }
            try await fixture.waitUntilReady()
        }
    }

    @Test("a lane without a broker reports that it is not consuming, then shows its canary's age, and is ready again")
    func broker() async throws {
        try await LaneFixture.with(throughProxy: true) { fixture in
            try await fixture.waitUntilReady()
            let proxy = try #require(fixture.proxy)
            proxy.refuse(true)
            proxy.cutAll()
            try await eventually("it notices") { fixture.worker.whatIsWrong == "not consuming" }
            fixture.time.skip(.seconds(20))
            try await eventually("its age is told") {
                fixture.metrics.text().contains(#"bellhop_canary_age_seconds{lane="normal"}"#)
            }
            proxy.refuse(false)
            try await fixture.waitUntilReady()
        }
    }
}

/// The normal lane alone, with a canary, and a clock that can be moved ahead.
struct LaneFixture: Sendable {
    let servers: ServerFixture
    let worker: LaneWorker
    let time: AdvancedTime
    let metrics: MetricsRegistry
    let proxy: TCPProxy?
    private let publisher: Publisher

    static func with(
        throughProxy: Bool = false,
        before statement: String? = nil,
        _ body: @escaping @Sendable (LaneFixture) async throws -> Void
    ) async throws {
        try await ServerFixture.withTopology { servers in
            if let statement { _ = try await servers.owner.run(Statement(statement)) }
            let proxy = throughProxy ? try Self.proxy(servers) : nil
            let address = try proxy.map { try Self.address(behind: $0) } ?? servers.broker
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test, publishing"))
            publisher.start()
            let fixture = try await LaneFixture(servers, publisher, proxy, address)
            let drain = DrainSignal()
            let running = Task { try await fixture.worker.run(until: drain) }
            let result: Result<Void, any Error>
            do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
            drain.fire()
            try await running.value
            await publisher.close()
            proxy?.stop()
            let left = try await fixture.ownQueues()
            #expect(left == 0)
            try result.get()
        }
    }

    private init(
        _ servers: ServerFixture,
        _ publisher: Publisher,
        _ proxy: TCPProxy?,
        _ address: BrokerAddress
    ) async throws {
        (self.servers, self.publisher, self.proxy) = (servers, publisher, proxy)
        time = AdvancedTime()
        metrics = MetricsRegistry()
        let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
        let store = WorkerStore(pool: servers.pool, lease: .seconds(60))
        let workerContext = WorkerContext(
            store: store,
            publisher: publisher,
            names: servers.names,
            outlets: Outlets([:], prefetch: [:], context: .init(store: store, logger: logger, metrics: metrics)),
            policy: DeliveryPolicy(ladder: RetryLadder(tiers: ServerFixture.tiers, limit: 2), lease: .seconds(60))
        )
        let book = HeartbeatStore(pool: servers.pool)
        try await book.announce(Heartbeat(Self.identity, catalogs: "-"))
        let canary = Canary(
            for: "normal",
            of: .init(process: Self.identity.id, book: book, publisher: publisher, names: servers.names, time: time)
        )
        let options = ConsumerOptions(
            broker: address,
            name: "test, normal",
            subscriptions: [.init(queue: servers.names.lane(.normal), prefetch: 100), canary.subscription]
        )
        var worker = LaneWorker(
            lane: .normal,
            consumer: Consumer(options),
            intake: Intake(
                catalogs: CatalogSource(servers.catalogs),
                zones: ZoneLibrary(folder: "/usr/share/zoneinfo"),
                worker: workerContext,
                context: PipelineContext(logger: logger, metrics: PipelineMetrics(metrics))
            ),
            limits: .init(batch: 1)
        )
        worker.canary = canary
        self.worker = worker
    }

    private static let identity = Heartbeat.Identity(
        id: "w1",
        role: "worker",
        version: "-",
        host: "-",
        process: 1
    )

    private static func proxy(_ servers: ServerFixture) throws -> TCPProxy {
        let host = try servers.broker.hosts[0]
        return try TCPProxy(to: host.name, Int(host.port))
    }

    private static func address(behind proxy: TCPProxy) throws -> BrokerAddress {
        try BrokerAddress(validating: proxy.url(replacingHostOf: Servers.amqpURL ?? "") + "?heartbeat=1")
    }

    func waitUntilReady() async throws {
        try await eventually("it is ready, and not: \(worker.whatIsWrong ?? "-")") { worker.whatIsWrong == nil }
    }

    func publish(_ id: String) async throws {
        let body = #"{"id":"\#(id)","to":{"user":"u"},"title":"Hei","body":""}"#
        let message = OutgoingMessage(
            exchange: servers.names.events,
            routingKey: "drop.transaction_complete",
            body: Array(body.utf8)
        )
        let outcomes = await publisher.publish([message])
        #expect(outcomes == [.confirmed])
    }

    /// Waits until that many statements of the worker wait for a lock.
    func waitForStatements(_ count: Int) async throws {
        let waiting = """
            SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE NOT l.granted AND n.nspname = $1
            """
        try await eventually("\(count) statements wait") {
            try await servers.count(waiting, [.text(servers.namespace.name)]) >= count
        }
    }

    /// Returns 1 if a private queue of the worker's normal lane is still on the broker, otherwise 0.
    ///
    /// A message with the queue's routing key is unroutable if there is none.
    func ownQueues() async throws -> Int {
        let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test, looking"))
        publisher.start()
        let key = "\(servers.namespace).canary.\(Self.identity.id).normal"
        let message = OutgoingMessage(exchange: servers.names.work, routingKey: key, body: [])
        let outcomes = await publisher.publish([message])
        await publisher.close()
        if case .unroutable? = outcomes.first { return 0 }
        return 1
    }
}

/// The machine's clock, moved ahead by a test.
final class AdvancedTime: TimeSource {
    private let ahead = Mutex(Duration.zero)

    func now() -> Instant { SystemTime().now() + ahead.withLock { $0 } }

    func steady() -> ContinuousClock.Instant { .now + ahead.withLock { $0 } }

    func skip(_ span: Duration) {
        ahead.withLock { $0 += span }
    }
}
