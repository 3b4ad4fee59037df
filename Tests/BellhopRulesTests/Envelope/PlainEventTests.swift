import BellhopRules
import Testing

@Suite("Plain events")
struct PlainEventTests {
    @Test("every field of the contract is read into its place")
    func everyField() throws {
        let text = """
            {"id":"evt_01J","app":"drop","eventType":"transaction_complete","to":{"users":["u1","u2","u1"]},
             "title":"Tittel","body":"Tekst","data":{"amount":"2 000 kr","n":[1,{"a":null}]},
             "route":"/schedule","targetId":"tx_rem_1","metadata":{"matchId":"m1","empty":""},"venueId":"42",
             "imageUrl":"https://getdrop.no/a.png","sentAtIso":"2026-02-15T13:45:00.000Z",
             "deliverAt":"2026-02-16T13:45:00Z","expiresAt":"2026-02-17T13:45:00+01:00","collapseKey":"c1",
             "somethingNew":{"is":"ignored"}}
            """
        let event = try SampleMessages.event(SampleMessages.envelope(text))
        #expect(event.id.text == "evt_01J")
        #expect(event.app.text == "drop")
        #expect(event.type.text == "transaction_complete")
        #expect(event.audience == .users(["u1", "u2"].compactMap(UserID.init(validating:))))
        #expect(event.content.title == "Tittel")
        #expect(event.content.body == "Tekst")
        #expect(event.content.data == ["amount": "2 000 kr", "n": [1, ["a": .null]]])
        #expect(event.content.route == .shared("/schedule"))
        #expect(event.content.targetID == "tx_rem_1")
        #expect(event.content.metadata == ["matchId": "m1", "empty": ""])
        #expect(event.content.venueID == "42")
        #expect(event.content.imageURL == "https://getdrop.no/a.png")
        #expect(event.sentAt?.description == "2026-02-15T13:45:00.000Z")
        #expect(event.deliverAt?.description == "2026-02-16T13:45:00.000Z")
        #expect(event.expiresAt?.description == "2026-02-17T12:45:00.000Z")
        #expect(event.content.collapseKey == "c1")
        #expect(event.traceParent == nil)
    }

    @Test("the four audiences are read")
    func audiences() throws {
        func audience(_ to: JSONValue) throws -> Audience {
            try SampleMessages.event(SampleMessages.envelope(SampleMessages.changed(["to": to]))).audience
        }
        let user = try #require(UserID(validating: "u1"))
        #expect(try audience(["user": "u1"]) == .users([user]))
        #expect(try audience(["users": ["u1"], "user": .null]) == .users([user]))
        #expect(try audience(["topic": "venue:42"]) == .topic(try #require(Topic(validating: "venue:42"))))
        #expect(try audience(["everyone": true, "other": 1]) == .everyone)
        let many = (0..<1000).map { JSONValue.string("u\($0)") }
        guard case .users(let users) = try audience(["users": .array(many)]) else { throw NotUsers() }
        #expect(users.count == 1000)
    }

    private struct NotUsers: Error {}

    @Test("properties and routing key replace names that the body lacks")
    func properties() throws {
        var envelope = SampleMessages.envelope(#"{"to":{"user":"u1"},"title":"t"}"#)
        envelope.messageID = "evt_9"
        envelope.appID = "drop"
        envelope.type = "security"
        envelope.timestamp = 1_771_163_100
        let event = try SampleMessages.event(envelope)
        #expect(event.id.text == "evt_9")
        #expect(event.app.text == "drop")
        #expect(event.type.text == "security")
        #expect(event.sentAt?.description == "2026-02-15T13:45:00.000Z")

        var routed = SampleMessages.envelope(
            #"{"to":{"user":"u1"},"title":"t","id":"e"}"#,
            source: .eventsExchange(routingKey: "drop.rate_update")
        )
        routed.appID = ""
        routed.type = ""
        #expect(try SampleMessages.event(routed).type.text == "rate_update")
    }

    @Test("equal names in several places are accepted")
    func agreement() throws {
        var envelope = SampleMessages.envelope(SampleMessages.complete)
        envelope.source = .eventsExchange(routingKey: "drop.security")
        envelope.messageID = "evt_1"
        envelope.appID = "drop"
        envelope.type = "security"
        #expect(try SampleMessages.event(envelope).id.text == "evt_1")
    }

    @Test("an id in the body takes precedence over message_id, which many clients set automatically")
    func ownNumbering() throws {
        var envelope = SampleMessages.envelope(SampleMessages.complete)
        envelope.messageID = "6f1b3c0e-transport"
        #expect(try SampleMessages.event(envelope).id.text == "evt_1")
    }

    @Test("null counts as absent")
    func nulls() throws {
        let object = SampleMessages.changed([
            "body": .null, "data": .null, "route": .null, "targetId": .null, "metadata": .null, "venueId": .null,
            "imageUrl": .null, "sentAtIso": .null, "deliverAt": .null, "expiresAt": .null, "collapseKey": .null,
        ])
        let event = try SampleMessages.event(SampleMessages.envelope(object))
        let complete = try SampleMessages.event(SampleMessages.envelope(SampleMessages.complete))
        #expect(event == complete)
    }

    @Test("the body's time takes precedence over the AMQP timestamp, and a timestamp out of range is ignored")
    func sentAt() throws {
        var envelope = SampleMessages.envelope(SampleMessages.changed(["sentAtIso": "2026-02-15T13:45:00Z"]))
        envelope.timestamp = 1
        #expect(try SampleMessages.event(envelope).sentAt?.description == "2026-02-15T13:45:00.000Z")
        envelope = SampleMessages.envelope(SampleMessages.complete)
        envelope.timestamp = .max
        #expect(try SampleMessages.event(envelope).sentAt == nil)
    }

    @Test("a trace state accompanies its trace, and an invalid one is dropped without the trace")
    func traceStates() throws {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let long = String(repeating: "a", count: 510)
        let cases: [(state: String, kept: String?)] = [
            ("vendor=1", "vendor=1"), ("a=1, t@v=x y", "a=1, t@v=x y"), ("a=1,,b=2", "a=1,,b=2"), ("", nil), ("a", nil),
            ("A=1", nil), ("a=1,a=2", nil), ("a=b=c", nil), ("a=ø", nil), ("\(long)=1", nil),
        ]
        for (state, kept) in cases {
            #expect(TraceParent(validating: trace, state: state)?.state == kept, "\(state)")
        }
        var envelope = SampleMessages.envelope(SampleMessages.complete)
        envelope.headers = [("Traceparent", .string(trace)), ("tracestate", .string("vendor=1"))]
        let event = try SampleMessages.event(envelope)
        #expect(event.traceParent?.state == "vendor=1")
        // The plain form contains it, too.
        var again = SampleMessages.envelope("")
        again.body = event.plainForm()
        #expect(try SampleMessages.event(again).traceParent == event.traceParent)
    }

    @Test("a burst's collapse key is read again from the plain form, for the longest type and topic")
    func longestTopic() throws {
        let type = String(repeating: "t", count: 64)
        let catalog = """
            { app: "shop", language: "en", timezone: "Europe/Oslo", providers: ["fcm"],
              types: { \(type): { priority: "normal", label: { en: "T" }, burst: { window: "60s" } } } }
            """
        let catalogs = try CatalogSet.load(files: [("shop.json5", Array(catalog.utf8))]).get()
        var keys: Set<String?> = []
        for end in ["a", "b"] {
            let topic = "m:" + String(repeating: "x", count: 252) + end
            let body =
                #"{"id":"e","app":"shop","eventType":"\#(type)","to":{"topic":"\#(topic)"},"title":"A","body":"B"}"#
            let parser = SubmissionParser(catalogs)
            guard case .event(let event) = try parser.parse(SampleMessages.envelope(body)).get() else {
                Issue.record("no event")
                return
            }
            keys.insert(event.content.collapseKey)
            #expect(event.content.collapseKey?.count == 255)
            var kept = SampleMessages.envelope("")
            kept.body = event.plainForm()
            #expect(try parser.parse(kept).get() == .event(event))
        }
        #expect(keys.count == 2)
    }

    @Test("a well-formed trace is kept, and an ill-formed one is ignored")
    func traces() throws {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        var envelope = SampleMessages.envelope(SampleMessages.complete)
        envelope.headers = [("x-other", .integer(1)), ("Traceparent", .string(trace))]
        #expect(try SampleMessages.event(envelope).traceParent?.text == trace)
        for value in [HeaderValue.string("nonsense"), .integer(.max), .other] {
            envelope.headers = [("traceparent", value)]
            #expect(try SampleMessages.event(envelope).traceParent == nil)
        }
    }

    @Test(
        "the content type of JSON may be missing or be another",
        arguments: [
            nil, "", "application/json", "application/json; charset=utf-8", "text/plain", "application/octet-stream",
            "application/vnd.getdrop.transactions+json",
        ]
    )
    func contentTypes(contentType: String?) throws {
        var envelope = SampleMessages.envelope(SampleMessages.complete)
        envelope.contentType = contentType
        #expect(try SampleMessages.event(envelope).id.text == "evt_1")
    }

    @Test("the payload of padel's documentation needs only an id and an audience in addition")
    func padelPayload() throws {
        let text = """
            { "eventType": "system", "title": "Ny match i schemat", "body": "Tisdag 19:00 på PDL Center.",
              "route": "/schedule", "metadata": { "matchId": "uuid-or-string" },
              "sentAtIso": "2026-02-15T13:45:00.000Z", "to": { "everyone": true } }
            """
        var envelope = SampleMessages.envelope(text, source: .eventsExchange(routingKey: "drop.system"))
        envelope.messageID = "m1"
        let event = try SampleMessages.event(envelope)
        #expect(event.content.body == "Tisdag 19:00 på PDL Center.")
        #expect(event.content.metadata == ["matchId": "uuid-or-string"])
    }
}
