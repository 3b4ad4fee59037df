import IntegrationSupport
import ServiceRuntime
import AMQP
import BellhopRules
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Topology",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct TopologyTests {
    @Test("a topology applied twice has no differences; before the first apply, everything is missing")
    func applyAndCheck() async throws {
        try await ServerFixture.withSchema { servers in
            let applier = try servers.applier()
            let before = try await applier.differences(comparingArguments: true)
            #expect(before.contains("exchange \(servers.names.events) is missing"))
            #expect(before.contains("queue \(servers.names.dead) is missing"))
            #expect(before.contains("drop.security should be bound to the urgent lane but is bound to none"))
        }
        try await ServerFixture.withTopology { servers in
            let again = try await servers.applier().apply()
            #expect(again.unboundTypes.isEmpty)
            #expect(try await servers.applier().differences(comparingArguments: true).isEmpty)
            #expect(try await servers.applier().differences(comparingArguments: false).isEmpty)
        }
    }

    @Test("a queue with other arguments is named by the check and stops the apply")
    func otherArguments() async throws {
        try await ServerFixture.withTopology { servers in
            let queue = servers.names.replay
            try await BrokerSession.with(try servers.broker, name: "test") { session in
                try session.deleteQueue(queue)
                _ = try session.declareQueue(queue, arguments: ["x-queue-type": .string("quorum")])
            }
            let differences = try await servers.applier().differences(comparingArguments: true)
            #expect(differences.count == 1 && differences[0].hasPrefix("queue \(queue) differs"))
            #expect(try await servers.applier().differences(comparingArguments: false).isEmpty)
            await #expect(throws: AMQPError.self) { try await servers.applier().apply() }
        }
    }

    @Test("a type with a changed priority moves to its new lane, and a removed type is unbound")
    func movingTypes() async throws {
        try await ServerFixture.withTopology { servers in
            let text = """
                {app: "drop", language: "en", timezone: "UTC", types: {
                    system: {priority: "high", label: {en: "System"}},
                    security: {priority: "high", label: {en: "Security"}}}}
                """
            let changed = try CatalogSet.load(files: [(name: "drop.json5", bytes: Array(text.utf8))]).get()
            let standing = try await servers.applier(for: changed).differences(comparingArguments: false)
            #expect(standing.contains("drop.system should be bound to the urgent lane but is bound to bulk"))
            #expect(standing.contains("drop.qr_payment is bound but no catalogue knows it"))
            #expect(standing.first?.hasSuffix("is bound but no catalogue knows it") == true, "what is lost comes first")

            let report = try await servers.applier(for: changed).apply()
            #expect(report.unboundTypes.contains("drop.qr_payment"))
            #expect(try await servers.lanesReached(by: "drop.system") == [.urgent])
            // No binding is left: the alternate exchange routes it to the normal lane, which rejects it with a reason.
            #expect(try await servers.lanesReached(by: "drop.qr_payment") == [.normal])
            #expect(try await servers.lanesReached(by: "nobody.nothing") == [.normal])
        }
    }

    @Test("every type of the catalogue reaches the lane of its priority and no other lane")
    func lanes() async throws {
        try await ServerFixture.withTopology { servers in
            let plan = TopologyPlan(names: servers.names, catalogs: servers.catalogs, tiers: ServerFixture.tiers)
            for (key, lane) in plan.lanes {
                let reached = try await servers.lanesReached(by: key)
                #expect(reached == [lane], "\(key)")
            }
        }
    }

    @Test("a message that is returned too often becomes a dead letter, and the scheduler stores it with its reason")
    func deliveryLimit() async throws {
        try await ServerFixture.withTopology { servers in
            let body = Array(#"{"id":"e1"}"#.utf8)
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
            publisher.start()
            let sent = await publisher.publish([
                OutgoingMessage(exchange: servers.names.events, routingKey: "drop.security", body: body)
            ])
            #expect(sent == [.confirmed])
            await publisher.close()
            let consumer = Consumer(
                ConsumerOptions(
                    broker: try servers.broker,
                    name: "test",
                    subscriptions: [.init(queue: servers.names.lane(.urgent), prefetch: 1)]
                )
            )
            consumer.start()
            var deliveries = 0
            while deliveries <= 20, let batch = await consumer.next(atMost: 1) {
                deliveries += batch.count
                consumer.release(batch.map(\.tag))
            }
            await consumer.close()
            #expect(deliveries == 21)
            try await PipelineFixture.on(servers) { pipeline in
                try await pipeline.wait(
                    for: 1,
                    """
                    SELECT count(*) FROM dead_letters
                    WHERE stage = 'broker' AND reason = 'delivery-limit' AND origin_routing_key = 'drop.security'
                      AND app = 'drop' AND dead_id LIKE 'broker-%'
                    """
                )
            }
            #expect(try await servers.count("SELECT count(*) FROM dead_letters WHERE body = $1", [.bytes(body)]) == 1)
        }
    }
}

@Suite("Topology plan")
struct TopologyPlanTests {
    @Test("tiers are named by their delay, and equal tiers count once")
    func tiers() throws {
        #expect(RetryTier(.seconds(10)).name == "10s")
        #expect(RetryTier(.seconds(120)).name == "2m")
        #expect(RetryTier(.seconds(3600)).name == "1h")
        let plan = try Self.plan([.seconds(120), .seconds(10), .seconds(120)])
        #expect(plan.queues.map(\.name).filter { $0.contains("retry") } == ["ns.retry.10s", "ns.retry.2m"])
    }

    @Test("every queue declares type, limits and overflow, and only the dead-letter queue has no dead-letter exchange")
    func arguments() throws {
        for queue in try Self.plan([.seconds(10)]).queues {
            #expect(queue.arguments["x-queue-type"] == .string("quorum"), "\(queue.name)")
            #expect(queue.arguments["x-overflow"] == .string("reject-publish"), "\(queue.name)")
            #expect(queue.arguments["x-max-length"] != nil, "\(queue.name)")
            #expect((queue.arguments["x-delivery-limit"]?.integer ?? 0) >= 20, "\(queue.name)")
            let isDead = queue.name == "ns.dead"
            #expect((queue.arguments["x-dead-letter-exchange"] == nil) == isDead, "\(queue.name)")
            #expect((queue.arguments["x-dead-letter-strategy"] == .string("at-least-once")) != isDead, "\(queue.name)")
        }
    }

    private static func plan(_ delays: [Duration]) throws -> TopologyPlan {
        let namespace = try #require(Namespace("ns"))
        return TopologyPlan(
            names: TopologyNames(namespace),
            catalogs: try ServerFixture.drop(),
            tiers: delays.map(RetryTier.init)
        )
    }
}

extension ServerFixture {
    /// Publishes a probe and returns the lanes that have it, after taking it off them.
    fileprivate func lanesReached(by key: String) async throws -> [Lane] {
        let publisher = Publisher(PublisherOptions(broker: try broker, name: "test"))
        publisher.start()
        let outcome = await publisher.publish([
            OutgoingMessage(exchange: names.events, routingKey: key, body: Array("probe".utf8))
        ])
        await publisher.close()
        guard outcome == [.confirmed] else { throw ServerFixtureError("the probe was not confirmed: \(outcome)") }
        return try await BrokerSession.with(try broker, name: "test") { [names] session in
            try Lane.allCases.filter { lane in
                guard let probe = try session.get(names.lane(lane)) else { return false }
                try session.acknowledge(probe.tag)
                return true
            }
        }
    }
}
