import AMQP
import BellhopRules
import IntegrationSupport
import Store
import TestSupport
import Testing

@testable import Pipeline
@testable import Postgres

@Suite(
    "Intake",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct IntakeTests {
    @Test("an event becomes one record for each of its users, rendered by the catalogue")
    func eventToRecords() async throws {
        try await withRig { pipeline in
            let body = """
                {"id":"e1","to":{"users":["u1","u2"]},"targetId":"tx_rem_1",\
                "data":{"recipient":"Mama Jasmina","amount":"2 000 kr","country":"Serbia"}}
                """
            try await pipeline.publish([pipeline.event(body, key: "drop.transaction_complete")])
            try await pipeline.wait(for: 2, "SELECT count(*) FROM notifications")
            let lines = try await pipeline.servers.column(
                "SELECT concat_ws('|', user_id, title, body, priority, link->>'web') FROM notifications ORDER BY user_id"
            )
            let words =
                "Overføring til Mama Jasmina fullført|2 000 kr sendt til Serbia|normal|/transactions?id=tx_rem_1"
            #expect(lines == ["u1|\(words)", "u2|\(words)"])
        }
    }

    @Test("the three forms of one event are one notification")
    func threeForms() async throws {
        try await withRig { pipeline in
            let fields = #""to":{"user":"u1"},"title":"Hei","body":"""#
            var binary = MessageProperties(contentType: "application/json")
            binary.headers = [
                "cloudEvents:specversion": .string("1.0"), "cloudEvents:id": .string("7"),
                "cloudEvents:source": .string("/shop"), "cloudEvents:type": .string("system"),
            ]
            let structured = """
                {"specversion":"1.0","id":"7","source":"/shop","type":"system","datacontenttype":"application/json",\
                "data":{"app":"drop",\(fields)}}
                """
            try await pipeline.publish([
                pipeline.event(#"{"id":"/shop/7",\#(fields)}"#, key: "drop.system"),
                pipeline.event("{\(fields)}", key: "drop.system", properties: binary),
                pipeline.event(
                    structured,
                    key: "drop.system",
                    properties: MessageProperties(contentType: "application/cloudevents+json")
                ),
            ])
            try await pipeline.waitUntilIdle(events: 3)
            #expect(try await pipeline.servers.count("SELECT count(*) FROM notifications") == 1)
            #expect(try await pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
        }
    }

    @Test("each reason of the contract is stored with its pointer and the original bytes, properties and headers")
    func rejections() async throws {
        try await withRig { pipeline in
            let big = String(repeating: "x", count: 256 * 1024)
            let cases: [(body: String, key: String, reason: String, pointer: String)] = [
                ("garbage{", "drop.system", "malformed-json", ""),
                (#"{"id":"1","to":{"user":"u"},"body":"\#(big)"}"#, "drop.system", "too-large", ""),
                (#"{"to":{"user":"u"},"title":"t"}"#, "drop.system", "missing-id", "/id"),
                (#"{"id":"1","title":"t"}"#, "drop.system", "missing-audience", "/to"),
                (#"{"id":"1","to":{"user":"u"}}"#, "nosuch.system", "unknown-app", ""),
                (#"{"id":"1","to":{"user":"u"}}"#, "drop.nosuch", "unknown-type", ""),
                (#"{"id":"1","to":{"user":"u"},"title":7}"#, "drop.system", "invalid-field", "/title"),
                (
                    #"{"userId":"u","token":"ExponentPushToken[x]","platform":"web","provider":"expo"}"#,
                    "drop.subscription.upserted", "invalid-field", "/platform"
                ),
                (
                    #"{"userId":"u","token":"t","platform":"android","provider":"apns"}"#,
                    "drop.subscription.upserted", "invalid-field", "/provider"
                ),
                (#"{"id":"1","app":"other","to":{"user":"u"},"title":"t"}"#, "drop.system", "invalid-field", "/app"),
            ]
            for item in cases {
                var properties = MessageProperties(contentType: "application/json", messageID: nil)
                properties.correlationID = "c-\(item.reason)"
                properties.headers = ["tenant": .string("t1"), "x-bellhop-dead-id": .string("forged")]
                try await pipeline.publish([pipeline.event(item.body, key: item.key, properties: properties)])
            }
            try await pipeline.wait(for: cases.count, "SELECT count(*) FROM dead_letters")
            for item in cases {
                let found = try await pipeline.servers.column(
                    """
                    SELECT concat_ws('|', pointer, origin_exchange, origin_routing_key, properties->>'correlationId',
                                     headers->>'tenant', headers->>'x-bellhop-dead-id', stage)
                    FROM dead_letters WHERE reason = $1 AND body = $2
                    """,
                    [.text(item.reason), .bytes(Array(item.body.utf8))]
                )
                let expected =
                    "\(item.pointer)|\(pipeline.servers.names.events)|\(item.key)|c-\(item.reason)|t1|forged|intake"
                #expect(found == [expected])
            }
            #expect(try await pipeline.servers.count("SELECT count(*) FROM notifications") == 0)
        }
    }

    @Test("the same id with other content is an id-conflict, and the first content stays")
    func idConflict() async throws {
        try await withRig { pipeline in
            let first = #"{"id":"e1","to":{"user":"u1"},"title":"First","body":""}"#
            let second = #"{"id":"e1","to":{"users":["u1","u2"]},"title":"Second","body":""}"#
            try await pipeline.publish([pipeline.event(first, key: "drop.system")])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
            try await pipeline.publish([pipeline.event(second, key: "drop.system")])
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE reason = 'id-conflict' AND user_id = 'u1'"
            )
            let titles = try await pipeline.servers.column("SELECT title FROM notifications ORDER BY user_id")
            #expect(titles == ["First", "Second"])
        }
    }

    @Test(
        "an event for a topic, for everyone or for later is stored once, and a cancellation, even an early one, ends it"
    )
    func plans() async throws {
        try await withRig { pipeline in
            let words = #""title":"Hei","body":"""#
            try await pipeline.publish([
                pipeline.event(#"{"id":"p1","to":{"topic":"venue:1"},\#(words)}"#, key: "drop.system"),
                pipeline.event(#"{"id":"p1","to":{"topic":"venue:1"},\#(words)}"#, key: "drop.system"),
                pipeline.event(#"{"id":"p2","to":{"everyone":true},\#(words)}"#, key: "drop.system"),
                pipeline.event(#"{"id":"p3"}"#, key: "drop.event.cancelled"),
            ])
            try await pipeline.wait(for: 3, "SELECT count(*) FROM events")
            let later = #"{"id":"ID","to":{"user":"u1"},"deliverAt":"2026-12-24T08:00:00Z",\#(words)}"#
            try await pipeline.publish([
                pipeline.event(later.replacing("ID", with: "p3"), key: "drop.system"),
                pipeline.event(later.replacing("ID", with: "p4"), key: "drop.system"),
                pipeline.event(later.replacing("ID", with: "p1"), key: "drop.system"),
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE reason = 'id-conflict'")
            try await pipeline.wait(for: 4, "SELECT count(*) FROM events")
            try await pipeline.publish([pipeline.event(#"{"id":"p4"}"#, key: "drop.event.cancelled")])
            try await pipeline.wait(for: 2, "SELECT count(*) FROM events WHERE cancelled_at IS NOT NULL")
            let waiting = try await pipeline.servers.column(
                "SELECT id FROM events WHERE cancelled_at IS NULL ORDER BY id"
            )
            #expect(waiting == ["p1", "p2"])
            #expect(try await pipeline.servers.count("SELECT count(*) FROM notifications") == 0)
        }
    }

    @Test("feed messages are stored through the broker, too")
    func feeds() async throws {
        try await withRig { pipeline in
            try await pipeline.publish([
                pipeline.event(#"{"userId":"u1","locale":"nb"}"#, key: "drop.recipient.upserted"),
                pipeline.event(#"{"userId":"u1","topic":"venue:1"}"#, key: "drop.follow.added"),
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM recipients WHERE locale = 'nb'")
            try await pipeline.wait(for: 1, "SELECT count(*) FROM follows WHERE topic = 'venue:1'")
        }
    }

    @Test("a value that the database rejects makes only its own message a dead letter")
    func poisonRow() async throws {
        try await withRig { pipeline in
            // The database gets an extra constraint, because no value that passes the rules is known to be rejected.
            _ = try await pipeline.servers.owner.run("ALTER TABLE inbox ADD CHECK (title <> 'poison')")
            let poison = #"{"id":"bad","to":{"user":"u"},"title":"poison","body":""}"#
            let good = (0..<50).map {
                pipeline.event(#"{"id":"g\#($0)","to":{"user":"u"},"title":"t","body":""}"#, key: "drop.system")
            }
            try await pipeline.publish(good.prefix(25) + [pipeline.event(poison, key: "drop.system")] + good.suffix(25))
            try await pipeline.wait(for: 50, "SELECT count(*) FROM notifications")
            try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE reason = 'refused-by-store'")
        }
    }

    @Test("a user whose rows cannot be written delays no other user's records, and is recorded after the repair")
    func damagedRows() async throws {
        try await withRig { pipeline in
            try await pipeline.servers.damage("NEW.title = 'damaged'")
            let damaged = (0..<4).map { number in
                pipeline.event(
                    #"{"id":"b\#(number)","to":{"user":"v"},"title":"damaged","body":""}"#,
                    key: "drop.system"
                )
            }
            let good = (0..<50).map { number in
                pipeline.event(#"{"id":"g\#(number)","to":{"user":"u"},"title":"t","body":""}"#, key: "drop.system")
            }
            for message in damaged { try await pipeline.publish([message]) }
            try await pipeline.publish(good)
            try await pipeline.wait(for: 50, "SELECT count(*) FROM notifications")
            try await eventually("four are set aside") {
                pipeline.metrics.text().contains(#"bellhop_set_aside_messages{lane="bulk"} 4"#)
            }
            try await pipeline.servers.repair()
            try await pipeline.wait(for: 54, "SELECT count(*) FROM notifications")
            try await eventually("nothing is set aside") {
                pipeline.metrics.text().contains(#"bellhop_set_aside_messages{lane="bulk"} 0"#)
            }
            #expect(try await pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
        }
    }

    @Test("a session that the server cannot set up fails with an SQLSTATE of content, and rejects no content")
    func missingRole() async throws {
        try await ServerFixture.withSchema { servers in
            let pool = try ServerFixture.makePool(setUp: ["SET ROLE bellhop_nobody_at_all"], size: 1)
            let inbox = WorkerStore(pool: pool)
            var errors: [PostgresError] = []
            do throws(PostgresError) { try await inbox.rehearse() } catch { errors.append(error) }
            await pool.close()
            #expect(errors.map(\.sqlState) == [.invalidParameterValue])
            #expect(errors.map(\.refusesContent) == [false])
            #expect(errors.map(\.mayBeAboutOneItem) == [false])
        }
    }
}

func withRig(_ body: @escaping @Sendable (PipelineFixture) async throws -> Void) async throws {
    try await ServerFixture.withTopology { servers in
        try await PipelineFixture.on(servers, body)
    }
}

extension PipelineFixture {
    /// Waits until that many messages are settled; everything that results from them is then committed.
    func waitUntilIdle(events: Int) async throws {
        try await eventually("\(events) messages are settled; \(messagesSettled) are") { messagesSettled >= events }
    }

    /// The number of batches that were taken in.
    var batches: Int { meter("bellhop_batch_messages_count") }

    private var messagesSettled: Int { meter("bellhop_batch_messages_sum") }

    private func meter(_ name: String) -> Int {
        let line = metrics.text().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }.map { Int($0) } ?? 0
    }
}
