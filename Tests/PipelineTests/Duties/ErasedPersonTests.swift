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
            let before = try await Self.mentions(on: fixture.bench)
            #expect(before.count > 8, "\(before)")

            try await fixture.rig.publish([
                fixture.rig.event(#"{"userId":"\#(Self.person)"}"#, key: "drop.recipient.deleted")
            ])
            try await fixture.rig.wait(for: 1, "SELECT count(*) FROM tombstones")
            // Messages that were in a queue at the time; the marker behind them shows that they have been processed.
            try await fixture.rig.publish([
                Self.brokerLetter(fixture, Self.event("late", #"{"user":"PERSON"}"#)),
                fixture.rig.event(Self.event("late2", #"{"user":"PERSON"}"#), key: "drop.nosuch"),
                fixture.rig.event(Self.event("late3", #"{"user":"PERSON"}"#, Self.later), key: "drop.system"),
            ])
            try await fixture.rig.publish([fixture.rig.event("{ marker", key: "drop.system")])
            try await fixture.rig.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE body = convert_to('{ marker', 'UTF8')"
            )
            try await fixture.rig.wait(for: 1, "SELECT (count(*) = 0)::integer::bigint FROM erasures")
            var after: [String] = []
            try await eventually("nothing mentions the person; there is \(after)") {
                after = try await Self.mentions(on: fixture.bench)
                return after.isEmpty
            }
            let others = try await fixture.bench.column(
                "SELECT convert_from(body, 'UTF8')::jsonb #>> '{to,users}' FROM dead_letters WHERE event_id = 'shared'"
            )
            #expect(others == [#"["other"]"#])
            let audit = try await fixture.bench.column("SELECT DISTINCT filter ->> 'user' FROM audit")
            #expect(audit == ["(erased)"])
        }
    }

    // MARK: - The user's data

    private func live(_ fixture: ReplayFixture) async throws {
        let rig = fixture.rig
        try await fixture.counterpart.register([(Self.person, "token-of-the-erased")])
        let reminder = #""id":"r1","localTime":"09:00","title":"WORDS","body":"WORDS""#
        let feeds = [
            ("recipient.upserted", #""email":"erased@example.com","preferences":{"master":true}"#),
            ("follow.added", #""topic":"venue:1""#), ("reminder.set", reminder),
        ]
        try await rig.publish(
            feeds.map { type, fields in
                rig.event(Self.filled(#"{"userId":"PERSON",\#(fields)}"#), key: "drop.\(type)")
            }
        )
        try await rig.wait(for: 1, "SELECT count(*) FROM reminders")
        try await rig.publish([
            rig.event(Self.event("e1", #"{"user":"PERSON"}"#), key: "drop.transaction_complete"),
            rig.event(Self.event("p1", #"{"user":"PERSON"}"#, Self.later), key: "drop.system"),
            rig.event(Self.event("p2", #"{"user":"PERSON"}"#, Self.later), key: "drop.system"),
            rig.event(#"{"id":"p2"}"#, key: "drop.event.cancelled"),
            rig.event(
                #"{"id":"p3","to":{"users":["\#(Self.person)","other"]},"title":"t","body":"b"\#(Self.later)}"#,
                key: "drop.system"
            ),
        ])
        try await rig.wait(for: 3, "SELECT count(*) FROM events")
        try await rig.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND channel = 'push'")
        _ = try await fixture.bench.owner.run("UPDATE notifications SET read_at = now()")
        // FCM rejects this one permanently.
        fixture.refuseAll()
        try await rig.publish([
            rig.event(Self.event("e2", #"{"user":"PERSON"}"#), key: "drop.transaction_complete")
        ])
        try await rig.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE notification_id IS NOT NULL")
    }

    private func getIntoTrouble(_ fixture: ReplayFixture) async throws {
        let rig = fixture.rig
        let found = OutgoingMessage(
            exchange: fixture.bench.names.dead,
            routingKey: "drop.system",
            properties: MessageProperties(),
            body: Array(Self.event("found", #"{"user":"PERSON"}"#).utf8)
        )
        let resume = #"{"notifications":[["drop","PERSON","noti_0123456789abcdef"]]}"#
        let letters = [
            rig.event(Self.event("u", #"{"user":"PERSON"}"#), key: "drop.nosuch"),
            rig.event(Self.event("i", #"{"user":"PERSON"}"#, #","expiresAt":7"#), key: "drop.system"),
            rig.event(
                Self.event("e1", #"{"user":"PERSON"}"#, #","route":"/x""#),
                key: "drop.transaction_complete"
            ),
            rig.event(String(Self.event("m", #"{"users":["PERSON"]}"#).dropLast()), key: "drop.system"),
            rig.event(Self.filled(#"{"userId":"PERSON","token":7}"#), key: "drop.subscription.upserted"),
            rig.event(
                #"{"id":"shared","to":{"users":["\#(Self.person)","other"]},"title":7}"#,
                key: "drop.system"
            ),
            Self.brokerLetter(fixture, Self.event("b", #"{"user":"PERSON"}"#)),
            Self.brokerLetter(fixture, Self.filled(resume), from: fixture.bench.names.resume(.normal)), found,
        ]
        try await rig.publish(letters)
        try await rig.wait(for: letters.count + 1, "SELECT count(*) FROM dead_letters")
    }

    /// Performs an operator's actions on the user's dead letters.
    private func leaveWords(_ fixture: ReplayFixture) async throws {
        var filter = DeadLetterFilter()
        filter.user = Self.person
        _ = try await fixture.admin.perform(.note, on: filter, agreed: 100, by: ReplayFixture.ada)
        try await fixture.admin.audit("show", filter, items: 1, by: ReplayFixture.ada)
        filter.app = "drop"
        _ = try await fixture.book.start(fixture.order(filter), agreed: 100, by: ReplayFixture.ada)
    }

    /// Returns a message as the broker dead-letters it.
    private static func brokerLetter(
        _ fixture: ReplayFixture,
        _ body: String,
        from queue: String? = nil
    ) -> OutgoingMessage {
        let names = fixture.bench.names
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
    private static func mentions(on bench: Bench) async throws -> [String] {
        let tables = try await bench.column(
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = '\(bench.namespace)' ORDER BY 1"
        )
        var found: [String] = []
        for table in tables.compactMap({ $0 }) {
            for needle in [person, "words-to-be-erased", "token-of-the-erased", "erased@example.com"] {
                let hex = needle.utf8.map { byte in
                    (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }.joined()
                let rows = try await bench.count(
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
