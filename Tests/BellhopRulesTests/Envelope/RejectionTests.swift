import BellhopRules
import Testing

@Suite("Rejections")
struct RejectionTests {
    /// Fields that replace those of the complete event, with the expected reason and place.
    static let invalid: [(changes: KeyValuePairs<String, JSONValue?>, reason: RejectionReason, pointer: String)] = [
        (["id": nil], .missingID, "/id"), (["id": .null], .missingID, "/id"), (["id": 7], .invalidField, "/id"),
        (["id": ""], .invalidField, "/id"), (["id": "a\nb"], .invalidField, "/id"),
        (["id": .string(String(repeating: "x", count: 256))], .invalidField, "/id"),
        (["app": nil], .unknownApp, "/app"), (["app": "other"], .unknownApp, "/app"),
        (["app": "DROP"], .unknownApp, "/app"), (["app": true], .invalidField, "/app"),
        (["eventType": nil], .unknownType, "/eventType"), (["eventType": "none"], .unknownType, "/eventType"),
        (["eventType": "no type"], .unknownType, "/eventType"), (["eventType": ["a"]], .invalidField, "/eventType"),
        (["to": nil], .missingAudience, "/to"), (["to": .null], .missingAudience, "/to"),
        (["to": [:]], .missingAudience, "/to"), (["to": ["user": .null]], .missingAudience, "/to"),
        (["to": ["everybody": true]], .missingAudience, "/to"), (["to": ["users": []]], .missingAudience, "/to/users"),
        (["to": "u1"], .invalidField, "/to"), (["to": ["user": "u", "topic": "t"]], .invalidField, "/to"),
        (["to": ["user": ""]], .invalidField, "/to/user"), (["to": ["user": 5]], .invalidField, "/to/user"),
        (["to": ["users": "u1"]], .invalidField, "/to/users"),
        (["to": ["users": ["u", 5]]], .invalidField, "/to/users/1"),
        (["to": ["users": ["u", .null]]], .invalidField, "/to/users/1"),
        (["to": ["users": .array((0...1000).map { .string("u\($0)") })]], .invalidField, "/to/users"),
        (["to": ["topic": "a\u{7F}"]], .invalidField, "/to/topic"),
        (["to": ["everyone": false]], .invalidField, "/to/everyone"),
        (["to": ["everyone": 1]], .invalidField, "/to/everyone"),
        (["title": ""], .invalidField, "/title"), (["title": 5], .invalidField, "/title"),
        (["title": .string(String(repeating: "å", count: 513))], .invalidField, "/title"),
        (["body": false], .invalidField, "/body"),
        (["body": .string(String(repeating: "x", count: 8193))], .invalidField, "/body"),
        (["data": "text"], .invalidField, "/data"), (["data": []], .invalidField, "/data"),
        (["route": "/a\nb"], .invalidField, "/route"), (["route": ""], .invalidField, "/route"),
        (["route": 5], .invalidField, "/route"), (["route": [:]], .invalidField, "/route"),
        (["route": ["web": .null, "else": "/"]], .invalidField, "/route"),
        (["route": ["web": ""]], .invalidField, "/route/web"),
        (["route": ["mobile": 5]], .invalidField, "/route/mobile"),
        (["route": ["scheme": "/a"]], .invalidField, "/route/scheme"),
        (["targetId": 5], .invalidField, "/targetId"), (["venueId": 42], .invalidField, "/venueId"),
        (["collapseKey": .string(String(repeating: "x", count: 256))], .invalidField, "/collapseKey"),
        (["metadata": ["a": 1]], .invalidField, "/metadata/a"),
        (["metadata": ["a/b": .null]], .invalidField, "/metadata/a~1b"),
        (["metadata": ["": "x"]], .invalidField, "/metadata"), (["metadata": "x"], .invalidField, "/metadata"),
        (["metadata": .object(JSONObject((0...64).map { ("k\($0)", "v") }))], .invalidField, "/metadata"),
        (["imageUrl": "ftp://a/b"], .invalidField, "/imageUrl"), (["imageUrl": "https://"], .invalidField, "/imageUrl"),
        (["imageUrl": "https:///x"], .invalidField, "/imageUrl"),
        (["imageUrl": "https://a b"], .invalidField, "/imageUrl"),
        (["imageUrl": "javascript:alert(1)"], .invalidField, "/imageUrl"),
        (["sentAtIso": "yesterday"], .invalidField, "/sentAtIso"),
        (["sentAtIso": 1_771_163_100], .invalidField, "/sentAtIso"),
        (["deliverAt": "2026-02-30T00:00:00Z"], .invalidField, "/deliverAt"),
        (["expiresAt": "2026-02-15"], .invalidField, "/expiresAt"),
        (["title": "a\0b"], .invalidField, "/title"), (["data": ["a": ["x\0"]]], .invalidField, "/data/a/0"),
        (["data": ["k\0": 1]], .invalidField, "/data"), (["ignored": "\0"], .invalidField, "/ignored"),
    ]

    @Test("each fault has its reason and its place", arguments: invalid.indices)
    func faults(index: Int) throws {
        let (changes, reason, pointer) = Self.invalid[index]
        let rejection = try SampleMessages.rejection(SampleMessages.envelope(SampleMessages.changed(changes)))
        #expect(rejection.reason == reason, "\(changes)")
        #expect(rejection.pointer.text == pointer, "\(changes)")
        #expect(!rejection.message.isEmpty)
    }

    @Test(
        "a body that is not a JSON object is rejected",
        arguments: [
            ("", RejectionReason.malformedJSON), ("{", .malformedJSON), ("not json", .malformedJSON),
            (#"{"id":"a","id":"b"}"#, .malformedJSON), (#"{"id":"\ud800"}"#, .malformedJSON),
            (String(repeating: "[", count: 100_000), .malformedJSON), ("\u{FEFF}{}", .malformedJSON),
            ("[]", .invalidField), ("null", .invalidField), ("\"text\"", .invalidField), ("1e999", .invalidField),
        ]
    )
    func malformed(text: String, reason: RejectionReason) throws {
        let rejection = try SampleMessages.rejection(SampleMessages.envelope(text))
        #expect(rejection.reason == reason)
        #expect(rejection.pointer == .root)
    }

    @Test("a syntax error states its place")
    func syntaxPlace() throws {
        let rejection = try SampleMessages.rejection(SampleMessages.envelope("{\n  \"id\": oops}"))
        #expect(rejection.message == "unexpected character (line 2, column 9, byte 10)")
    }

    @Test("numbers that are not portable are rejected with their place, and others keep their digits")
    func numbers() throws {
        func envelope(_ number: String) -> InboundEnvelope {
            let fields = #""id":"e","app":"drop","eventType":"security","to":{"user":"u"},"title":"t""#
            return SampleMessages.envelope("{\(fields),\"data\":{\"n\":[0,\(number)]}}")
        }
        for number in ["1e999", "-1e99999999", "1e-999", String(repeating: "9", count: 400)] {
            let rejection = try SampleMessages.rejection(envelope(number))
            #expect(rejection.reason == .invalidField)
            #expect(rejection.pointer.text == "/data/n/1")
        }
        let wei = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
        let event = try SampleMessages.event(envelope(wei))
        #expect(event.content.data["n"]?.array?.last?.number?.text == wei)
    }

    @Test("256 KiB are accepted, and one byte more is rejected as too large before it is parsed")
    func size() throws {
        let limit = 256 * 1024
        let empty = JSONWriter.canonicalBytes(of: .object(SampleMessages.changed(["filler": ""]))).count
        func envelope(_ bytes: Int) -> InboundEnvelope {
            SampleMessages.envelope(
                SampleMessages.changed(["filler": .string(String(repeating: "x", count: bytes - empty))])
            )
        }
        #expect(envelope(limit).body.count == limit)
        #expect(try SampleMessages.event(envelope(limit)).id.text == "evt_1")
        #expect(try SampleMessages.rejection(envelope(limit + 1)).reason == .tooLarge)
        let garbage = InboundEnvelope(body: [UInt8](repeating: 0xFF, count: limit + 1), source: .elsewhere)
        #expect(try SampleMessages.rejection(garbage).reason == .tooLarge)
    }

    @Test(
        "the id of a body that was not parsed is read if it is legible",
        arguments: [
            (#"{"id":"e1","to":{"user":"ada"},"body":"\u{FFFD}"#, "e1"),
            (#" {"app":"drop", "id" : "e1" not JSON"#, "e1"),
            (#"{"to":{"id":"no"},"list":[{"id":"no"},"id"],"id":"e1","#, "e1"),
            (#"{"data":{"x":[1],"id":"inner"},"specversion":"1.0","source":"/s","id":"c1""#, "inner"),
            (#"{"specversion":"1.0","source":"/s","id":"c1","data":{"t":1"#, "/s/c1"),
            (#"{"title":"say \"id\": \"no\"","id":"e\u0031","#, "e1"), (#"{"id":"e1"#, nil), (#"{"id":7,"x":"#, nil),
            (#"["id","e1""#, nil), ("", nil), (#"{"id":""#, nil),
            ("{\"id\":\"" + String(repeating: "x", count: 5_000) + "\",", nil),
        ] as [(String, String?)]
    )
    func illegible(body: String, id: String?) throws {
        let envelope = InboundEnvelope(body: Array(body.utf8), source: .eventsExchange(routingKey: "drop.system"))
        let rejection = try SampleMessages.rejection(envelope)
        #expect(rejection.eventID?.text == id)
        #expect(rejection.app?.text == "drop", "the routing key names the app")
    }

    @Test("the id of a body that is too large is read, and the body's other members are not")
    func tooLarge() throws {
        let filler = String(repeating: "x", count: 256 << 10)
        let body = #"{"app":"safe","body":"\#(filler)","id":"big"}"#
        let envelope = InboundEnvelope(body: Array(body.utf8), source: .eventsExchange(routingKey: "drop.system"))
        let rejection = try SampleMessages.rejection(envelope)
        #expect(rejection.reason == .tooLarge)
        #expect(rejection.eventID?.text == "big" && rejection.app?.text == "drop")
    }

    @Test("an unknown type that only the routing key or the property names is reported with that source and no place")
    func unknownTypeOutsideTheBody() throws {
        let body = Array(#"{"id":"e","app":"drop","to":{"user":"u"},"title":"t"}"#.utf8)
        let words = "the app's catalogue does not know"
        var envelope = InboundEnvelope(body: body, source: .eventsExchange(routingKey: "drop.nosuch"))
        #expect(try SampleMessages.rejection(envelope).message == "\(words) the type that the routing key names")
        #expect(try SampleMessages.rejection(envelope).pointer.text == "", "the body has no such member")
        envelope.type = "nosuch"
        let property = "\(words) the type that the message's property names"
        #expect(try SampleMessages.rejection(envelope).message == property)
        #expect(try SampleMessages.rejection(envelope).pointer.text == "")
        envelope = SampleMessages.envelope(SampleMessages.changed(["eventType": "nosuch"]))
        #expect(try SampleMessages.rejection(envelope).message == "\(words) this type")
        #expect(try SampleMessages.rejection(envelope).pointer.text == "/eventType")
    }

    @Test("an unknown app that only the routing key or the property names is reported with that source and no place")
    func unknownAppOutsideTheBody() throws {
        let body = Array(#"{"id":"e","to":{"user":"u"},"title":"t"}"#.utf8)
        var envelope = InboundEnvelope(body: body, source: .eventsExchange(routingKey: "nosuch.system"))
        let routed = try SampleMessages.rejection(envelope)
        #expect(routed.message == "no catalogue describes the app that the routing key names")
        #expect(routed.pointer.text == "")
        envelope.appID = "nosuch"
        let property = try SampleMessages.rejection(envelope)
        #expect(property.message == "no catalogue describes the app that the message's property names")
        #expect(property.pointer.text == "")
        envelope = SampleMessages.envelope(SampleMessages.changed(["app": "nosuch"]))
        let named = try SampleMessages.rejection(envelope)
        #expect(named.message == "no catalogue describes this app")
        #expect(named.pointer.text == "/app")
    }

    @Test("a message cannot name another app or type than its routing key and its properties")
    func contradictions() throws {
        func rejection(_ change: (inout InboundEnvelope) -> Void) throws -> Rejection {
            var envelope = SampleMessages.envelope(SampleMessages.complete)
            change(&envelope)
            return try SampleMessages.rejection(envelope)
        }
        let cases: [((inout InboundEnvelope) -> Void, String)] = [
            ({ $0.source = .eventsExchange(routingKey: "safe.security") }, "/app"),
            ({ $0.source = .eventsExchange(routingKey: "drop.system") }, "/eventType"),
            ({ $0.source = .eventsExchange(routingKey: "drop") }, "/eventType"),
            ({ $0.source = .eventsExchange(routingKey: "drop.") }, "/eventType"),
            ({ $0.source = .eventsExchange(routingKey: "") }, "/app"),
            ({ $0.source = .eventsExchange(routingKey: "drop.security.more") }, "/eventType"),
            ({ $0.appID = "safe" }, "/app"), ({ $0.type = "system" }, "/eventType"),
        ]
        for (change, pointer) in cases {
            let rejection = try rejection(change)
            #expect(rejection.reason == .invalidField)
            #expect(rejection.pointer.text == pointer)
        }
        var envelope = SampleMessages.envelope(SampleMessages.changed(["app": nil]))
        envelope.appID = "drop"
        envelope.source = .eventsExchange(routingKey: "safe.security")
        #expect(try SampleMessages.rejection(envelope).pointer.text == "/app")
    }

    @Test("a rejection keeps app, type and id if they are readable")
    func names() throws {
        var envelope = SampleMessages.envelope("no json at all", source: .eventsExchange(routingKey: "drop.security"))
        envelope.messageID = "evt_7"
        let malformed = try SampleMessages.rejection(envelope)
        #expect(malformed.app?.text == "drop")
        #expect(malformed.eventType?.text == "security")
        #expect(malformed.eventID?.text == "evt_7")
        let invalid = try SampleMessages.rejection(SampleMessages.envelope(SampleMessages.changed(["title": "\0"])))
        #expect(invalid.app?.text == "drop")
        #expect(invalid.eventID?.text == "evt_1")
        let illegible = try SampleMessages.rejection(
            SampleMessages.envelope(SampleMessages.changed(["id": "\0", "app": "#"]))
        )
        #expect(illegible.app == nil)
        #expect(illegible.eventID == nil)
    }

    @Test("neither message nor pointer repeats content of the rejected message")
    func discretion() throws {
        let secret = "s3cret"
        for key in ["id", "app", "eventType", "to", "data", "imageUrl", "sentAtIso", "deliverAt", "metadata"] {
            let rejection = try SampleMessages.rejection(
                SampleMessages.envelope(SampleMessages.changed([key: .string(secret + "\n")]))
            )
            #expect(!rejection.message.contains(secret), "\(key)")
        }
        let longKey = String(repeating: secret, count: 1000)
        let rejection = try SampleMessages.rejection(
            SampleMessages.envelope(SampleMessages.changed(["data": ["a": [longKey: "\0"]]]))
        )
        #expect(rejection.pointer.text == "/data/a")
    }

    @Test("the reasons are exactly those of the contract")
    func reasons() {
        let contract = [
            "malformed-json", "too-large", "missing-id", "missing-audience", "unknown-app", "unknown-type",
            "invalid-field", "id-conflict",
        ]
        #expect(RejectionReason.allCases.map(\.rawValue) == contract)
    }
}
