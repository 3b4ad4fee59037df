import AMQP
import BellhopRules
import IntegrationSupport
import Sandbox
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite("An erased user", .limitedConcurrency, .enabled(if: serversAreThere, "needs both servers"), .timeLimit(.ofTest))
struct ErasedPersonTests {
    @Test("after every kind of failure, no column of any table holds the erased user's id, texts or devices")
    func nothingStays() async throws {
        try await ReplayFixture.with { fixture in
            try await live(fixture)
            try await getIntoTrouble(fixture)
            try await leaveWords(fixture)
            let before = try await Self.mentions(on: fixture.servers)
            #expect(before.count > 8, "\(before)")

            try await fixture.pipeline.publish([
                fixture.pipeline.event(#"{"userId":"\#(Self.person)"}"#, key: "drop.recipient.deleted")
            ])
            try await fixture.pipeline.wait(for: 1, "SELECT count(*) FROM tombstones")
            // Messages that were in a queue at the time; the marker behind them shows that they have been processed.
            try await fixture.pipeline.publish([
                Self.brokerLetter(fixture, Self.event("late", #"{"user":"PERSON"}"#)),
                fixture.pipeline.event(Self.event("late2", #"{"user":"PERSON"}"#), key: "drop.nosuch"),
                fixture.pipeline.event(Self.event("late3", #"{"user":"PERSON"}"#, Self.later), key: "drop.system"),
            ])
            try await fixture.pipeline.publish([fixture.pipeline.event("{ marker", key: "drop.system")])
            try await fixture.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE body = convert_to('{ marker', 'UTF8')"
            )
            try await fixture.pipeline.wait(for: 1, "SELECT (count(*) = 0)::integer::bigint FROM erasures")
            var after: [String] = []
            try await eventually("nothing mentions the person; there is \(after)") {
                after = try await Self.mentions(on: fixture.servers)
                return after.isEmpty
            }
            let others = try await fixture.servers.column(
                "SELECT convert_from(body, 'UTF8')::jsonb #>> '{to,users}' FROM dead_letters WHERE event_id = 'shared'"
            )
            #expect(others == [#"["other"]"#])
            let audit = try await fixture.servers.column("SELECT DISTINCT filter ->> 'user' FROM audit")
            #expect(audit == ["(erased)"])
        }
    }

    // MARK: - The user's data

    private func live(_ fixture: ReplayFixture) async throws {
        let pipeline = fixture.pipeline
        try await fixture.peer.register([(Self.person, "token-of-the-erased")])
        let reminder = #""id":"r1","localTime":"09:00","title":"WORDS","body":"WORDS""#
        let feeds = [
            ("recipient.upserted", #""email":"erased@example.com","preferences":{"master":true}"#),
            ("follow.added", #""topic":"venue:1""#), ("reminder.set", reminder),
        ]
        try await pipeline.publish(
            feeds.map { type, fields in
                pipeline.event(Self.filled(#"{"userId":"PERSON",\#(fields)}"#), key: "drop.\(type)")
            }
        )
        try await pipeline.wait(for: 1, "SELECT count(*) FROM reminders")
        try await pipeline.publish([
            pipeline.event(Self.event("e1", #"{"user":"PERSON"}"#), key: "drop.transaction_complete"),
            pipeline.event(Self.event("p1", #"{"user":"PERSON"}"#, Self.later), key: "drop.system"),
            pipeline.event(Self.event("p2", #"{"user":"PERSON"}"#, Self.later), key: "drop.system"),
            pipeline.event(#"{"id":"p2"}"#, key: "drop.event.cancelled"),
            pipeline.event(
                #"{"id":"p3","to":{"users":["\#(Self.person)","other"]},"title":"t","body":"b"\#(Self.later)}"#,
                key: "drop.system"
            ),
        ])
        try await pipeline.wait(for: 3, "SELECT count(*) FROM events")
        try await pipeline.wait(
            for: 1,
            "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND channel = 'push'"
        )
        _ = try await fixture.servers.owner.run("UPDATE notifications SET read_at = now()")
        // FCM rejects this one permanently.
        fixture.refuseAll()
        try await pipeline.publish([
            pipeline.event(Self.event("e2", #"{"user":"PERSON"}"#), key: "drop.transaction_complete")
        ])
        try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE notification_id IS NOT NULL")
    }

    private func getIntoTrouble(_ fixture: ReplayFixture) async throws {
        let pipeline = fixture.pipeline
        let found = OutgoingMessage(
            exchange: fixture.servers.names.dead,
            routingKey: "drop.system",
            properties: MessageProperties(),
            body: Array(Self.event("found", #"{"user":"PERSON"}"#).utf8)
        )
        let resume = #"{"notifications":[["drop","PERSON","noti_0123456789abcdef"]]}"#
        let letters = [
            pipeline.event(Self.event("u", #"{"user":"PERSON"}"#), key: "drop.nosuch"),
            pipeline.event(Self.event("i", #"{"user":"PERSON"}"#, #","expiresAt":7"#), key: "drop.system"),
            pipeline.event(
                Self.event("e1", #"{"user":"PERSON"}"#, #","route":"/x""#),
                key: "drop.transaction_complete"
            ),
            pipeline.event(String(Self.event("m", #"{"users":["PERSON"]}"#).dropLast()), key: "drop.system"),
            pipeline.event(Self.filled(#"{"userId":"PERSON","token":7}"#), key: "drop.subscription.upserted"),
            pipeline.event(
                #"{"id":"shared","to":{"users":["\#(Self.person)","other"]},"title":7}"#,
                key: "drop.system"
            ),
            Self.brokerLetter(fixture, Self.event("b", #"{"user":"PERSON"}"#)),
            Self.brokerLetter(fixture, Self.filled(resume), from: fixture.servers.names.resume(.normal)), found,
        ]
        try await pipeline.publish(letters)
        try await pipeline.wait(for: letters.count + 1, "SELECT count(*) FROM dead_letters")
    }

    /// Performs an operator's actions on the user's dead letters.
    private func leaveWords(_ fixture: ReplayFixture) async throws {
        var filter = DeadLetterFilter()
        filter.user = Self.person
        _ = try await fixture.admin.perform(.note, on: filter, agreed: 100, by: ReplayFixture.ada)
        try await fixture.admin.audit(.reveal, filter, items: 1, by: ReplayFixture.ada)
        filter.app = "drop"
        _ = try await fixture.book.start(fixture.order(filter), agreed: 100, by: ReplayFixture.ada)
    }

    /// Returns a message as the broker dead-letters it.
    private static func brokerLetter(
        _ fixture: ReplayFixture,
        _ body: String,
        from queue: String? = nil
    ) -> OutgoingMessage {
        let names = fixture.servers.names
        let death: FieldTable = [
            "queue": .string(queue ?? names.lane(.normal)), "reason": "delivery_limit", "count": 1,
        ]
        var properties = MessageProperties()
        properties.headers = ["x-death": .array([.table(death)])]
        return OutgoingMessage(
            exchange: names.dead,
            routingKey: queue ?? "drop.system",
            properties: properties,
            body: Array(body.utf8)
        )
    }

    private static let person = "person-to-be-erased"
    /// Tomorrow: a time too far ahead is rejected.
    private static let later: String = {
        let tomorrow = Timestamp(clamping: SystemTime().now().microseconds + 86_400_000_000)
        return #","deliverAt":"\#(tomorrow)""#
    }()

    private static func event(_ id: String, _ to: String, _ more: String = "") -> String {
        filled(#"{"id":"\#(id)","to":\#(to),"title":"WORDS","body":"WORDS"\#(more)}"#)
    }

    private static func filled(_ text: String) -> String {
        text.replacing("PERSON", with: person).replacing("WORDS", with: "words-to-be-erased")
    }

    // MARK: - Search of all tables

    /// Returns the tables in which a row mentions the user, in text or in bytes.
    private static func mentions(on servers: ServerFixture) async throws -> [String] {
        let tables = try await servers.column(
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = '\(servers.namespace)' ORDER BY 1"
        )
        var found: [String] = []
        for table in tables.compactMap({ $0 }) {
            for needle in [person, "words-to-be-erased", "token-of-the-erased", "erased@example.com"] {
                let hex = needle.utf8.map { byte in
                    (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }.joined()
                let rows = try await servers.count(
                    """
                    SELECT count(*) FROM \(table) AS r
                    WHERE strpos(r::text, '\(needle)') > 0 OR strpos(r::text, '\(hex)') > 0
                    """
                )
                if rows > 0 { found.append("\(table): \(needle)") }
            }
        }
        return found
    }
}
