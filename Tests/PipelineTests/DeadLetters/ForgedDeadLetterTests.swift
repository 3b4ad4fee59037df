import AMQP
import BellhopRules
import IntegrationSupport
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Forged dead letters",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ForgedDeadLetterTests {
    @Test("an expired message with forged headers changes nothing for another app, replayed or not")
    func forged() async throws {
        let catalogs = try ServerFixture.shipped { $0 == "drop.json5" || $0 == "padel.json5" }
        try await ServerFixture.withTopology(catalogs: catalogs) { servers in
            // A dead letter of padel, which a forger would like to imitate.
            let own = try await PipelineFixture.on(servers) { pipeline in
                let body = #"{"id":"p1","to":{"user":"u1"},"title":"t","body":"b"}"#
                try await pipeline.publish([pipeline.event(body, key: "padel.nosuch")])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
                return try await servers.column(Self.ownLetter)
            }
            let filed = try await servers.column("SELECT dead_id FROM dead_letters")
            let first = filed.first ?? nil
            let id = try #require(first)
            let forgeries = Self.forgeries(of: id, servers.names)
            try await expire(forgeries, on: servers)
            try await PipelineFixture.on(servers) { pipeline in
                try await pipeline.wait(for: forgeries.count + 1, "SELECT count(*) FROM dead_letters")
                let after = try await servers.column(Self.ownLetter)
                #expect(after == own)
                let origins = try await servers.column(
                    """
                    SELECT DISTINCT concat_ws('|', app, origin_exchange, origin_routing_key, left(dead_id, 7), user_id)
                    FROM dead_letters WHERE stage = 'broker'
                    """
                )
                #expect(origins == ["drop|\(servers.names.events)|drop.x|broker-|u1"])
                let limits = ReplayLimits(perItem: 5, failedSince: DeadLetterSamples.ago(86_400))
                let order = ReplayOrder(DeadLetterFilter(), limits: limits, pace: .init(pauseShare: 100))
                let book = ReplayAdmin(pool: servers.owner)
                _ = try await book.start(order, agreed: 1_000, by: ReplayFixture.ada)
                try await pipeline.wait(for: 1, "SELECT count(*) FROM replays WHERE finished_at IS NOT NULL")
                let rows = try await servers.count("SELECT count(*) FROM notifications")
                #expect(rows == 0)
                let letters = try await servers.count("SELECT count(*) FROM dead_letters")
                #expect(letters == forgeries.count + 1)
            }
        }
    }

    @Test("a dead letter keeps its reason, and its replay its marks, next to as many headers as a message can have")
    func crowded() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                var properties = MessageProperties()
                properties.headers = ["a": Self.wide, "x-bellhop-z": Self.wide, "z": .string("z")]
                try await pipeline.publish([pipeline.event("{", key: "drop.system", properties: properties)])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE reason = 'malformed-json'")
                let limits = ReplayLimits(perItem: 5, failedSince: DeadLetterSamples.ago(86_400))
                let order = ReplayOrder(DeadLetterFilter(), limits: limits, pace: .init())
                _ = try await ReplayAdmin(pool: servers.owner).start(order, agreed: 1, by: ReplayFixture.ada)
                try await pipeline.wait(for: 1, "SELECT count(*) FROM replays WHERE finished_at IS NOT NULL")
                let died = try await servers.column("SELECT concat_ws('|', reason, deaths, replays) FROM dead_letters")
                #expect(died == ["malformed-json|2|1"])
            }
        }
    }

    private static let ownLetter = """
        SELECT concat_ws('|', dead_id, state, reason, error, attempts, deaths, copies, app) FROM dead_letters
        WHERE event_id = 'p1' AND stage = 'intake'
        """

    private static let wide = FieldValue.array(Array(repeating: .void, count: 4096))

    private static func forgeries(of id: String, _ names: TopologyNames) -> [FieldTable] {
        func death(_ exchange: String, _ queue: FieldValue) -> FieldValue {
            let keys = FieldValue.array([.string("padel.admin_announcement")])
            let entry: FieldTable = [
                "count": 1, "exchange": .string(exchange), "queue": queue, "reason": "expired", "routing-keys": keys,
            ]
            return .array([.table(entry)])
        }
        let letter: FieldTable = [
            "x-bellhop-dead-id": .string(id), "x-bellhop-origin-exchange": .string(names.events),
            "x-bellhop-origin-routing-key": "padel.admin_announcement", "x-bellhop-reason": "mine",
            "x-bellhop-replay-count": 1, "x-bellhop-replay-of": .string(id), "x-bellhop-attempts": 99,
            "x-bellhop-replay-exchange": "x",
        ]
        let lane = FieldValue.string(names.lane(.normal))
        let bytes = FieldValue.bytes(Array(names.lane(.normal).utf8))
        var hidden = letter
        hidden["x-c"] = wide
        var counted = letter
        counted["x-delivery-count"] = 99
        return [
            ["x-death": death(names.events, lane)], ["x-death": death("x", lane)],
            ["x-death": death(names.work, bytes)],
            ["x-death": death(names.work, .string(names.replay))], letter, hidden, counted,
        ]
    }

    /// Publishes messages of padel with these headers as drop's producer, and waits until they expire unconsumed.
    private func expire(_ headers: [FieldTable], on servers: ServerFixture) async throws {
        let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test, forging"))
        publisher.start()
        let fields = #""app":"padel","eventType":"admin_announcement","title":"t","body":"b""#
        let messages = headers.enumerated().map { index, table in
            var properties = MessageProperties(contentType: "application/json")
            properties.appID = "padel"
            properties.headers = table
            properties.expiration = "1"
            let body = #"{"id":"f\#(index)",\#(fields),"to":{"user":"u1"}}"#
            return OutgoingMessage(
                exchange: servers.names.events,
                routingKey: "drop.x",
                properties: properties,
                body: Array(body.utf8)
            )
        }
        let outcomes = await publisher.publish(messages)
        await publisher.close()
        let wanted: [PublishOutcome] = Array(repeating: .confirmed, count: messages.count)
        #expect(outcomes == wanted)
        let dead = servers.names.dead
        try await eventually("the messages have expired") {
            let found = try await BrokerSession.with(try servers.broker, name: "test") { session in
                try session.checkQueue(dead)?.messages
            }
            return found == messages.count
        }
    }
}
