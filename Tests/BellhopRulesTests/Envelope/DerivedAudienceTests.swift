import BellhopRules
import Testing

/// Audiences that the catalogue derives from an event's values.
@Suite("Derived audiences")
struct DerivedAudienceTests {
    private static let catalog = """
        {app: "a", language: "en", timezone: "UTC", topics: {foldCase: ["safe"], venueId: "venue"},
         aliases: {place: "venueId"}, audience: {topic: "venue:{place}"},
         types: {
           offer: {priority: "normal", label: {en: "T"}, burst: {window: "60s"}},
           safe: {priority: "normal", label: {en: "T"}, audience: {topic: "safe:{chain.id}:{address}"}},
           about: {priority: "normal", label: {en: "T"}, audience: {topic: "item:{targetId}:news"}},
           news: {priority: "normal", label: {en: "T"}, audience: "everyone"},
         }}
        """

    private static func read(_ type: String, _ fields: JSONObject) throws -> Result<Submission, Rejection> {
        let catalogs = try CatalogSet.load(files: [("a.json5", Array(catalog.utf8))]).get()
        var body: JSONObject = ["id": "e", "app": "a", "eventType": .string(type), "title": "T"]
        for member in fields.members { body[member.key] = member.value }
        return SubmissionParser(catalogs).parse(SampleMessages.envelope(body))
    }

    private static func event(_ type: String, _ fields: JSONObject) throws -> Event {
        guard case .event(let event) = try read(type, fields).get() else { throw NotAnEvent() }
        return event
    }

    private struct NotAnEvent: Error {}

    private static func safe(_ chain: JSONValue?, _ address: JSONValue?) -> JSONObject {
        var data = JSONObject()
        data["chain"] = chain.map { ["id": $0] }
        data["address"] = address
        return ["data": .object(data)]
    }

    @Test("the topic contains the event's values, in its canonical spelling")
    func topics() throws {
        #expect(try Self.event("offer", ["venueId": "42"]).audience.topic?.text == "venue:42")
        #expect(try Self.event("offer", ["venueId": "urn:x:1"]).audience.topic?.text == "venue:urn:x:1")
        #expect(try Self.event("safe", Self.safe("1", "0xAbC")).audience.topic?.text == "safe:1:0xabc")
        #expect(try Self.event("safe", Self.safe(100, "0xabc")).audience.topic?.text == "safe:100:0xabc")
        #expect(try Self.event("about", ["targetId": "t 1"]).audience.topic?.text == "item:t 1:news")
    }

    @Test("a derived topic has the same effects as a named one, and a stored event keeps it")
    func effects() throws {
        let derived = try Self.event("offer", ["venueId": "42"])
        let named = try Self.event("offer", ["venueId": "42", "to": ["topic": "venue:42"]])
        #expect(derived == named)
        #expect(derived.content.collapseKey == "offer venue:42")
        let catalogs = try CatalogSet.load(files: [("a.json5", Array(Self.catalog.utf8))]).get()
        let stored = InboundEnvelope(body: derived.plainForm(), source: .elsewhere)
        #expect(try SubmissionParser(catalogs).parse(stored).get() == .event(derived))
    }

    @Test("an event's own audience and a type's own audience take precedence")
    func precedence() throws {
        let user = try #require(UserID(validating: "u"))
        #expect(try Self.event("offer", ["to": ["user": "u"]]).audience == .users([user]))
        #expect(try Self.event("news", ["venueId": "42"]).audience == .everyone)
    }

    private static let faults: [(type: String, fields: JSONObject, reason: RejectionReason, pointer: String)] = [
        ("offer", [:], .missingAudience, "/venueId"),
        ("offer", ["venueId": .null, "to": .null], .missingAudience, "/venueId"),
        ("offer", ["to": [:]], .missingAudience, "/to"),
        ("offer", ["venueId": 42], .invalidField, "/venueId"),
        ("safe", [:], .missingAudience, "/data/chain/id"),
        ("safe", safe("1", nil), .missingAudience, "/data/address"),
        ("safe", safe("1", ""), .missingAudience, "/data/address"),
        ("safe", safe(["1"], "0xabc"), .invalidField, "/data/chain/id"),
        ("safe", safe(true, "0xabc"), .invalidField, "/data/chain/id"),
        ("safe", safe(-1, "0xabc"), .invalidField, "/data/chain/id"),
        ("safe", safe("1:0xdef", "0xabc"), .invalidField, "/data/chain/id"),
        ("safe", safe("1", "0x\n"), .invalidField, "/data/address"),
        ("safe", safe("1", .string(String(repeating: "x", count: 249))), .invalidField, "/data/address"),
    ]

    @Test("a missing value is a missing audience, and an unusable one an invalid field", arguments: faults.indices)
    func fault(index: Int) throws {
        let row = Self.faults[index]
        let rejection = try #require(try Self.read(row.type, row.fields).failure)
        #expect(rejection.reason == row.reason && rejection.pointer.text == row.pointer, "\(rejection)")
    }

    @Test("the message of a missing value names the topic, and the pointer of a CloudEvent leads into its data")
    func message() throws {
        #expect(try Self.read("offer", [:]).failure?.message.contains("venue:{place}") == true)
        let catalogs = try CatalogSet.load(files: [("a.json5", Array(Self.catalog.utf8))]).get()
        let event = #"{"specversion":"1.0","id":"1","source":"s","type":"safe","data":{"title":"T","data":{}}}"#
        var envelope = InboundEnvelope(
            body: Array(event.utf8),
            source: .eventsExchange(routingKey: "a.safe")
        )
        envelope.contentType = "application/cloudevents+json"
        let rejection = try #require(SubmissionParser(catalogs).parse(envelope).failure)
        #expect(rejection.reason == .missingAudience && rejection.pointer.text == "/data/data/chain/id")
    }
}
