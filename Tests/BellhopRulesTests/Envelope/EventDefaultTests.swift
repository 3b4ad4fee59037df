import Testing

@testable import BellhopRules

@Suite("Defaults of events")
struct EventDefaultTests {
    private static let catalog = """
        {app: "a", language: "en", timezone: "UTC", topics: {foldCase: ["Venue"], venueId: "venue"}, idFromContent: true,
         types: {
           news: {priority: "low", label: {en: "T"}, audience: "everyone"},
           offer: {priority: "normal", label: {en: "T"}, audience: {topic: "Venue:A"}, burst: {window: "60s"}},
           plain: {priority: "normal", label: {en: "T"}},
         }}
        """

    /// Reads an event; `hash` is that of the parser.
    private static func read(
        _ type: String,
        _ body: String,
        hash: (@Sendable ([UInt8]) -> [UInt8])? = mixed
    ) throws -> Result<Submission, Rejection> {
        let catalogs = try CatalogSet.load(files: [("a.json5", Array(catalog.utf8))]).get()
        let source = InboundEnvelope.Source.eventsExchange(routingKey: "a.\(type)")
        return SubmissionParser(catalogs, hash: hash).parse(InboundEnvelope(body: Array(body.utf8), source: source))
    }

    private struct NotAnEvent: Error {}

    /// A weak hash that suffices for these bytes.
    @Sendable
    private static func mixed(_ bytes: [UInt8]) -> [UInt8] {
        (1...16).map { place in bytes.reduce(UInt8(place)) { $0 &* 31 &+ $1 } }
    }

    private static func event(_ type: String, _ body: String) throws -> Event {
        guard case .event(let event) = try read(type, body).get() else { throw NotAnEvent() }
        return event
    }

    @Test("an event without an audience gets that of its type, and is rejected if the type has none")
    func audience() throws {
        #expect(try Self.event("news", #"{"id":"1","title":"T"}"#).audience == .everyone)
        let topic = try #require(Topic(validating: "venue:a"))
        #expect(try Self.event("offer", #"{"id":"1","title":"T","to":null}"#).audience == .topic(topic))
        let user = try #require(UserID(validating: "u"))
        #expect(try Self.event("news", #"{"id":"1","title":"T","to":{"user":"u"}}"#).audience == .users([user]))
        #expect(try Self.read("plain", #"{"id":"1","title":"T"}"#).failure?.reason == .missingAudience)
        #expect(try Self.read("news", #"{"id":"1","title":"T","to":{}}"#).failure?.reason == .missingAudience)
    }

    @Test("a topic is spelled like its follows and gives the event's venue, unless the event names one")
    func topic() throws {
        let event = try Self.event("plain", #"{"id":"1","title":"T","to":{"topic":"VENUE:42B"}}"#)
        #expect(event.audience.topic?.text == "venue:42b")
        #expect(event.content.venueID == "42b")
        let own = #"{"id":"1","title":"T","to":{"topic":"venue:42"},"venueId":"7"}"#
        #expect(try Self.event("plain", own).content.venueID == "7")
        #expect(try Self.event("plain", #"{"id":"1","title":"T","to":{"user":"u"}}"#).content.venueID == nil)
    }

    @Test("the same body without an id is the same event, in any order of fields, and another body is another event")
    func contentID() throws {
        let first = try Self.event("news", #"{"title":"T","body":"B"}"#).id
        #expect(first.text.hasPrefix("content:"))
        #expect(try Self.event("news", #"{"body":"B","title":"T","id":null}"#).id == first)
        #expect(try Self.event("news", #"{"title":"T","body":"C"}"#).id != first)
        #expect(try Self.event("news", #"{"title":"T","id":"7"}"#).id.text == "7")
    }

    @Test("no id is made without a hash function, or for an app that does not request it")
    func noContentID() throws {
        let reason = try Self.read("news", #"{"title":"T"}"#, hash: nil).failure?.reason
        #expect(reason == .missingID)
        let drop = SubmissionParser(try Repository.drop()) { $0 }
        let body = SampleMessages.changed(["id": nil])
        #expect(drop.parse(SampleMessages.envelope(body)).failure?.reason == .missingID)
    }
}
