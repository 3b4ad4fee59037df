import TestSupport
import Testing

@testable import BellhopRules

/// Compares the two ways to read an event: in one pass, and from a JSON tree.
///
/// Rounds: BELLHOP_FUZZ_ROUNDS; seed: BELLHOP_FUZZ_SEED.
@Suite("Reading plain events")
struct PlainEventReaderTests {
    private static func envelope(_ text: String) -> InboundEnvelope {
        InboundEnvelope(body: Array(text.utf8), source: .eventsExchange(routingKey: "drop.security"))
    }

    @Test(
        "an event of plain texts is read without a tree, as the tree gives it",
        arguments: [
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"}}"#,
            #" { "id" : "e1" , "app" : "drop" , "eventType" : "security" , "to" : { "user" : "åse 😀" } , "data" : { } } "#,
            """
            {"sentAtIso":"2026-02-15T13:45:00.000Z","metadata":{"b":"2","a":"1"},"targetId":"tx 1","data":{"z":"å",\
            "n":-12.50,"a":true,"m":false,"":"","long key of more than eight bytes":"and a value"},"to":{"user":"ada"},\
            "eventType":"security","app":"drop","id":"e1","venueId":"42","collapseKey":"k","title":"T","body":"",\
            "expiresAt":"2026-02-16T13:45:00+01:00"}
            """,
        ]
    )
    func plain(text: String) throws {
        let set = try Repository.drop()
        let event = try #require(PlainEventReader(set).event(in: Self.envelope(text)))
        try Self.expectSame(event, Self.envelope(text), set)
    }

    @Test(
        "other forms are declined",
        arguments: [
            "", "[]", "null", "{}", #"{"id":"e1"}"#,
            #"{"id":"e1","app":"drop","eventType":"security"}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"}} x"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada","users":["bo"]}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"users":["ada"]}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":true}}"#,
            #"{"id":"","app":"drop","eventType":"security","to":{"user":"ada"}}"#,
            #"{"id":"e1","app":"padel","eventType":"security","to":{"user":"ada"}}"#,
            #"{"id":"e1","app":"drop","eventType":"system","to":{"user":"ada"}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"route":"/x"}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"unknown":"x"}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"title":null}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"title":""}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"title":"\u0041"}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"data":{"a":1e3}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"data":{"a":{}}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"data":{"a":null}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"data":{"a":1,"a":1}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"metadata":{"a":1}}"#,
            #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"sentAtIso":"yesterday"}"#,
            #"{"id":"e1","id":"e1","app":"drop","eventType":"security","to":{"user":"ada"}}"#,
        ]
    )
    func declined(text: String) throws {
        let reader = PlainEventReader(try Repository.drop())
        #expect(reader.event(in: Self.envelope(text)) == nil)
    }

    @Test("headers, another content type, contradictions and cut bodies are declined")
    func envelopes() throws {
        let reader = PlainEventReader(try Repository.drop())
        let usual = Self.envelope(#"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"}}"#)
        #expect(reader.event(in: usual) != nil)
        let changes: [(inout InboundEnvelope) -> Void] = [
            { $0.headers = [("traceparent", .string("00"))] },
            { $0.contentType = "application/cloudevents+json" },
            { $0.publishedBytes = 100 },
            { $0.limit = 10 },
            { $0.appID = "padel" },
            { $0.type = "system" },
            { $0.source = .eventsExchange(routingKey: "drop.system") },
            { $0.source = .eventsExchange(routingKey: "drop") },
        ]
        for (index, change) in changes.enumerated() {
            var envelope = usual
            change(&envelope)
            #expect(reader.event(in: envelope) == nil, "change \(index)")
        }
    }

    @Test("whatever is read in one pass is read from a tree with the same result, also after changes of its bytes")
    func sameBothWays() throws {
        var generator = SeededChance.announced("plain events")
        let set = try Repository.drop()
        let reader = PlainEventReader(set)
        var count = 0
        let rounds = SeededChance.rounds(5_000)
        for _ in 0..<rounds {
            let envelope = PlainMessages.random(&generator)
            guard let event = reader.event(in: envelope) else { continue }
            count += 1
            try Self.expectSame(event, envelope, set)
        }
        #expect(count > rounds / 10, "\(count) of \(rounds) were read")
    }

    /// Fails unless the tree of the message gives the same event, to the last byte.
    private static func expectSame(_ event: Event, _ envelope: InboundEnvelope, _ set: CatalogSet) throws {
        let text = String(decoding: envelope.body, as: UTF8.self)
        let submission = try SubmissionParser(set).parseTree(envelope).get()
        guard case .event(let expected) = submission else {
            Issue.record("not an event: \(text)")
            return
        }
        #expect(event == expected, "\(text)")
        #expect(event.data == expected.data, "\(text)")
        #expect(event.mapping == expected.mapping)
        #expect(event.plainForm() == expected.plainForm(), "\(text)")
        let order = event.content.data.members.map(\.key)
        let expectedOrder = expected.content.data.members.map(\.key)
        #expect(order == expectedOrder, "\(text)")
    }
}
