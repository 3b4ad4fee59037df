import TestSupport
import Testing

@testable import BellhopRules

/// Other applications' messages, as events by the mappings of a catalogue.
@Suite("Mappings of messages")
struct MessageMappingTests {
    static let catalog = """
        {app: "shop", language: "en", timezone: "UTC",
         from: {
           outbox: {
             only: {"/op": ["c", "r"]},
             eventType: "/after/type", types: {OrderShipped: "shipped", OrderPaid: "paid"},
             id: "/after/id", to: {user: "/after/payload/customer/id"}, data: "/after/payload",
             targetId: "/after/aggregateid", sentAtIso: {at: "/source/ts_ms", unit: "ms"},
           },
           chain: {
             eventType: "/type", others: "ignore", id: {text: "{/type}:{/chainId}:{/txHash}"},
             to: {topic: {text: "safe:{/chainId}:{/address}"}}, title: ["/title", {text: "Safe {/address}"}],
             data: {chainId: "/chainId", hash: "/txHash"}, metadata: {hash: "/txHash"},
             route: {web: {text: "/safes/{/address}"}}, noEmail: true,
           },
           legacy: {
             eventType: {text: "paid"}, id: "/no", to: {users: "/for"}, title: "/subject", body: "/text",
             route: {text: "/orders"},
           },
         },
         types: {
           shipped: {priority: "high", label: {en: "S"}, templates: {en: {title: "Order {number} is on its way"}}},
           paid: {priority: "low", label: {en: "P"}, templates: {en: {title: "Paid"}}},
         }}
        """

    static func set(_ text: String = catalog) throws -> CatalogSet {
        try CatalogSet.load(files: [("shop.json5", Array(text.utf8))]).get()
    }

    private static func parse(
        _ name: String,
        _ body: String,
        _ change: (inout InboundEnvelope) -> Void = { _ in }
    ) throws -> Result<Submission, Rejection> {
        let source = InboundEnvelope.Source.eventsExchange(routingKey: "shop.\(name)")
        var envelope = SampleMessages.envelope(body, source: source)
        change(&envelope)
        return SubmissionParser(try set()).parse(envelope)
    }

    private static func event(_ name: String, _ body: String) throws -> Event {
        guard case .event(let event) = try parse(name, body).get() else { throw NotAnEvent() }
        return event
    }

    private struct NotAnEvent: Error {}

    private static let change = #"""
        {"before":null,"after":{"id":"0f3c","aggregatetype":"order","aggregateid":"o-7","type":"OrderShipped",
         "payload":"{\"number\":7,\"customer\":{\"id\":42}}"},"source":{"ts_ms":1771163100123},"op":"c"}
        """#

    @Test("a change event of an outbox table becomes an event, with its payload from a string")
    func debezium() throws {
        let event = try Self.event("outbox", Self.change)
        #expect(event.app.text == "shop" && event.type.text == "shipped" && event.id.text == "0f3c")
        #expect(event.audience == .users([try #require(UserID(validating: "42"))]))
        #expect(event.content.data["number"] == 7)
        #expect(event.content.targetID == "o-7")
        #expect(event.sentAt == Timestamp(validating: "2026-02-15T13:45:00.123Z"))
        #expect(event.mapping?.text == "outbox")
        let stored = InboundEnvelope(body: event.plainForm(), source: .elsewhere)
        #expect(try SubmissionParser(Self.set()).parse(stored).get() == .event(event))
    }

    @Test("a message that does not meet the conditions, or whose type is none of the app's, is ignored")
    func ignored() throws {
        let outbox = try #require(EventType(validating: "outbox"))
        let app = try #require(AppID(validating: "shop"))
        let deletion = #"{"before":{"id":"0f3c"},"after":null,"op":"d"}"#
        #expect(try Self.parse("outbox", deletion).get() == .ignored(app: app, mapping: outbox))
        let chain = try #require(EventType(validating: "chain"))
        let reorganisation = #"{"type":"REORG_DETECTED","chainId":"1"}"#
        #expect(try Self.parse("chain", reorganisation).get() == .ignored(app: app, mapping: chain))
    }

    @Test("texts, alternatives, members and fixed values are filled from the message")
    func values() throws {
        let event = try Self.event(
            "chain",
            #"{"type":"paid","chainId":1,"address":"0xA","txHash":"0x9","app":"other"}"#
        )
        #expect(event.id.text == "paid:1:0x9")
        #expect(event.audience.topic?.text == "safe:1:0xA")
        #expect(event.content.title == "Safe 0xA")
        #expect(event.content.data == ["chainId": 1, "hash": "0x9"])
        #expect(event.content.metadata == ["hash": "0x9"])
        #expect(event.content.route == .separate(web: "/safes/0xA", mobile: nil, scheme: nil))
        #expect(event.content.isNeverMailed)
        let titled = try Self.event(
            "chain",
            #"{"type":"paid","chainId":"1","address":"0xA","txHash":"0x9","title":"T"}"#
        )
        #expect(titled.content.title == "T")
    }

    @Test("a plain payload of an old service becomes an event, with numbers as users and as id")
    func legacy() throws {
        let event = try Self.event("legacy", #"{"no":17,"for":[1,"b"],"subject":"Paid","text":"Thanks","eventType":9}"#)
        #expect(event.id.text == "17" && event.type.text == "paid")
        #expect(event.audience == .users(["1", "b"].compactMap(UserID.init(validating:))))
        #expect(event.content.title == "Paid" && event.content.body == "Thanks")
        #expect(event.content.route == .shared("/orders"))
        let one = try Self.event("legacy", #"{"no":"x","for":5,"subject":"Paid"}"#)
        #expect(one.audience == .users(["5"].compactMap(UserID.init(validating:))))
    }

    @Test("a mapping is named by routing key, CloudEvents type, property or body")
    func names() throws {
        let body = #"{"no":17,"for":"a","subject":"Paid"}"#
        let parser = SubmissionParser(try Self.set())
        var named = SampleMessages.envelope(body)
        named.appID = "shop"
        named.type = "legacy"
        var cloud = SampleMessages.envelope(body)
        cloud.appID = "shop"
        cloud.headers = [("ce-specversion", "1.0"), ("ce-id", "9"), ("ce-source", "s"), ("ce-type", "legacy")]
            .map { ($0.0, HeaderValue.string($0.1)) }
        let structured = #"""
            {"specversion":"1.0","id":"9","source":"s","type":"legacy","data":{"app":"shop","for":"a","no":17}}
            """#
        var document = SampleMessages.envelope(structured)
        document.contentType = "application/cloudevents+json"
        let own = SampleMessages.envelope(#"{"app":"shop","eventType":"legacy","no":17,"for":"a","subject":"Paid"}"#)
        for envelope in [named, cloud, document, own] {
            guard case .event(let event) = try parser.parse(envelope).get() else { throw NotAnEvent() }
            #expect(event.mapping?.text == "legacy")
            #expect(event.id.text == "17")
        }
    }

    @Test("a routing key without a mapping, and an app without one, leave a message as it is")
    func unnamed() throws {
        let plain = #"{"id":"1","app":"shop","eventType":"paid","to":{"user":"a"}}"#
        let event = try Self.event("paid", plain)
        #expect(event.mapping == nil)
        let rejection = try #require(Self.parse("other", #"{"no":1}"#).failure)
        #expect(rejection.reason == .unknownType)
    }

    @Test(
        "a bad message is rejected with its place in the message",
        arguments: [
            ("outbox", #"{"op":"c","after":{"type":"OrderLost","id":"1"}}"#, "unknown-type", "/after/type"),
            ("outbox", #"{"op":"c","after":{"id":"1"}}"#, "unknown-type", "/after/type"),
            (
                "outbox", #"{"op":"c","after":{"type":"OrderPaid","payload":"{}"}}"#, "missing-id", "/after/id"
            ),
            (
                "outbox", #"{"op":"c","after":{"type":"OrderPaid","id":"1","payload":"{}"}}"#, "missing-audience",
                "/after/payload/customer/id"
            ),
            (
                "outbox", #"{"op":"c","after":{"type":"OrderPaid","id":"1","payload":"not JSON"}}"#, "invalid-field",
                "/after/payload"
            ),
            (
                "outbox",
                #"{"op":"c","source":{"ts_ms":"soon"},"after":{"type":"OrderPaid","id":"1","payload":{"customer":{"id":"a"}}}}"#,
                "invalid-field", "/source/ts_ms"
            ),
            (
                "outbox", #"{"op":"c","after":{"type":"OrderPaid","id":"1","payload":{"customer":{"id":true}}}}"#,
                "invalid-field", "/after/payload/customer/id"
            ),
            (
                "outbox", #"{"op":"c","after":{"type":"OrderPaid","id":"1","payload":"[{\"a\":\"\\u0000\"}]"}}"#,
                "invalid-field", "/after/payload/0/a"
            ),
            ("legacy", #"{"no":1,"for":"a","subject":""}"#, "invalid-field", "/subject"),
            ("legacy", #"{"no":[],"for":"a"}"#, "invalid-field", "/no"),
            ("legacy", #"{"no":1,"for":[{}]}"#, "invalid-field", "/for/0"),
            ("legacy", #"{"no":1,"for":[]}"#, "missing-audience", "/for"),
            ("chain", #"{"type":"paid","chainId":"1","address":"a"}"#, "missing-id", "/txHash"),
            ("chain", #"{"type":"paid","chainId":{},"txHash":"x"}"#, "missing-id", "/chainId"),
            ("legacy", #"["no"]"#, "invalid-field", ""), ("legacy", "{", "malformed-json", ""),
        ]
    )
    func rejected(name: String, body: String, reason: String, pointer: String) throws {
        let rejection = try #require(Self.parse(name, body).failure)
        #expect(rejection.reason.rawValue == reason, "\(rejection)")
        #expect(rejection.pointer.text == pointer, "\(rejection)")
        #expect(rejection.app?.text == "shop")
        #expect(!rejection.message.isEmpty && rejection.message.utf8.count < 400)
    }

    @Test("a fault names the field and the mapping, and in CloudEvents its place in the data")
    func words() throws {
        let rejection = try #require(Self.parse("legacy", #"{"no":1,"for":"a","subject":""}"#).failure)
        #expect(rejection.message == "as title by from.legacy: expected 1 to 512 characters")
        #expect(rejection.eventType?.text == "paid")
        var document = SampleMessages.envelope(
            #"{"specversion":"1.0","id":"9","source":"s","type":"legacy","data":{"app":"shop","for":"a","subject":1}}"#
        )
        document.contentType = "application/cloudevents+json"
        let inner = try #require(SubmissionParser(try Self.set()).parse(document).failure)
        #expect(inner.pointer.text == "/data/no")
    }

    @Test("an event that a mapping makes larger or deeper than an event may be is rejected")
    func bounded() throws {
        let doubling = Self.catalog.replacing("data: {chainId: \"/chainId\",", with: "data: {all: \"\", again: \"\",")
        let parser = SubmissionParser(try Self.set(doubling))
        func parse(_ more: String) -> Result<Submission, Rejection> {
            let body = #"{"type":"paid","chainId":"1","address":"a","txHash":"x","more":\#(more)}"#
            return parser.parse(SampleMessages.envelope(body, source: .eventsExchange(routingKey: "shop.chain")))
        }
        let long = "\"" + String(repeating: "x", count: 200_000) + "\""
        #expect(parse(long).failure?.reason == .tooLarge)
        let depth = JSONParser.Limits.event.depth - 1
        let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect(parse(deep).failure?.reason == .invalidField)
        #expect(parse("1").failure == nil)
    }

    @Test("an id is derived from the message if the catalogue allows it and the mapping names none")
    func content() throws {
        let text = Self.catalog.replacing("id: \"/no\", ", with: "")
        #expect(text != Self.catalog)
        let body = #"{"no":1,"for":"a","subject":"S"}"#
        func id(_ catalog: String, _ messageID: String? = nil) throws -> String? {
            var envelope = SampleMessages.envelope(body, source: .eventsExchange(routingKey: "shop.legacy"))
            envelope.messageID = messageID
            guard
                case .event(let event) = try SubmissionParser(Self.set(catalog), hash: { _ in Array(0..<32) })
                    .parse(envelope).get()
            else { return nil }
            return event.id.text
        }
        #expect(throws: Rejection.self) { _ = try id(text) }
        #expect(try id(text, "m-1") == "m-1")
        let derived = text.replacing("app: \"shop\",", with: "app: \"shop\", idFromContent: true,")
        #expect(try id(derived) == "content:000102030405060708090a0b0c0d0e0f")
    }
}
