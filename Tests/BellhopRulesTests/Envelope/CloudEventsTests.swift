import BellhopRules
import Foundation
import Testing

@Suite("CloudEvents")
struct CloudEventsTests {
    private static let data: JSONObject = [
        "to": ["user": "u1"], "data": ["device": "iPhone", "place": "Oslo, Norge"], "collapseKey": "login",
        "deliverAt": "2026-03-01T10:00:00Z",
    ]
    private static let attributes: JSONObject = [
        "specversion": "1.0", "id": "7", "source": "https://auth.getdrop.no", "type": "security",
        "time": "2026-02-15T13:45:00Z",
    ]

    private func structured(_ changes: KeyValuePairs<String, JSONValue?> = [:]) -> InboundEnvelope {
        var object = Self.attributes
        object["data"] = .object(Self.data)
        for (key, value) in changes { object[key] = value }
        var envelope = SampleMessages.envelope(object)
        envelope.contentType = "application/cloudevents+json"
        envelope.source = .eventsExchange(routingKey: "drop.security")
        return envelope
    }

    private func binary(prefix: String, _ attributes: JSONObject = attributes) -> InboundEnvelope {
        var envelope = SampleMessages.envelope(Self.data)
        envelope.contentType = "application/json"
        envelope.source = .eventsExchange(routingKey: "drop.security")
        envelope.headers = attributes.members.map {
            (prefix + $0.key, $0.value.string.map(HeaderValue.string) ?? .other)
        }
        return envelope
    }

    @Test("the three forms of one event have the same content bytes")
    func sameContent() throws {
        func content(_ envelope: InboundEnvelope) throws -> [UInt8] {
            try SampleMessages.event(envelope).withContentBytes { Array($0) }
        }
        var plain = Self.data
        plain["id"] = "https://auth.getdrop.no/7"
        plain["app"] = "drop"
        plain["eventType"] = "security"
        plain["sentAtIso"] = "2026-02-15T13:45:00Z"
        let expected = try SampleMessages.event(SampleMessages.envelope(plain))
        let bytes = try content(SampleMessages.envelope(plain))
        #expect(!bytes.isEmpty)
        for envelope in [
            structured(), binary(prefix: "cloudEvents:"), binary(prefix: "cloudEvents_"), binary(prefix: "ce-"),
        ] {
            #expect(try content(envelope) == bytes)
            #expect(try SampleMessages.event(envelope) == expected)
        }
    }

    @Test(
        "parameters and spelling of the content type do not matter",
        arguments: [
            "application/cloudevents+json; charset=utf-8", "Application/CloudEvents+JSON",
            "application/cloudevents+json ;charset=UTF-8",
        ]
    )
    func contentTypes(contentType: String) throws {
        var envelope = structured()
        envelope.contentType = contentType
        #expect(try SampleMessages.event(envelope).id.text == "https://auth.getdrop.no/7")
    }

    @Test(
        "other formats of CloudEvents are rejected",
        arguments: [
            "application/cloudevents-batch+json", "application/cloudevents+avro", "application/cloudevents",
        ]
    )
    func otherFormats(contentType: String) throws {
        var envelope = structured()
        envelope.contentType = contentType
        #expect(try SampleMessages.rejection(envelope).reason == .malformedJSON)
    }

    @Test("an id in the data takes precedence over source and id, without a fault")
    func dataID() throws {
        var data = Self.data
        data["id"] = "evt_5"
        #expect(try SampleMessages.event(structured(["data": .object(data)])).id.text == "evt_5")
        var envelope = structured()
        envelope.messageID = "transport-7"
        #expect(try SampleMessages.event(envelope).id.text == "https://auth.getdrop.no/7")
    }

    @Test("data in base64 is read, and absent data is an event without fields")
    func otherData() throws {
        let bytes = JSONWriter.canonicalBytes(of: .object(Self.data))
        let base64 = Foundation.Data(bytes).base64EncodedString()
        let event = try SampleMessages.event(structured(["data": nil, "data_base64": .string(base64)]))
        let plain = try SampleMessages.event(structured())
        #expect(event == plain)
        #expect(try SampleMessages.rejection(structured(["data": nil])).reason == .missingAudience)
        var envelope = binary(prefix: "ce-")
        envelope.body = []
        #expect(try SampleMessages.rejection(envelope).reason == .missingAudience)
    }

    static let faults: [(changes: KeyValuePairs<String, JSONValue?>, reason: RejectionReason, pointer: String)] = [
        (["specversion": nil], .invalidField, "/specversion"), (["specversion": "0.3"], .invalidField, "/specversion"),
        (["specversion": 1], .invalidField, "/specversion"), (["id": nil], .missingID, "/id"),
        (["id": 7], .invalidField, "/id"),
        (["source": ""], .invalidField, "/source"), (["type": nil], .invalidField, "/type"),
        (["type": "system"], .invalidField, "/data/eventType"), (["time": "noon"], .invalidField, "/time"),
        (["data": "text"], .invalidField, "/data"), (["data": []], .invalidField, "/data"),
        (["data_base64": "e30="], .invalidField, "/data"),
        (["data": nil, "data_base64": "%%%"], .invalidField, "/data_base64"),
        (["data": nil, "data_base64": 5], .invalidField, "/data_base64"),
        (["data": nil, "data_base64": "e30"], .invalidField, "/data_base64"),
        (["data": nil, "data_base64": "ew=="], .malformedJSON, "/data_base64"),
        (["data": ["to": ["user": 1]]], .invalidField, "/data/to/user"),
        (["data": ["to": ["user": "u"], "app": "safe"]], .invalidField, "/data/app"),
        (["data": ["to": ["user": "u"], "eventType": "system"]], .invalidField, "/data/eventType"),
    ]

    @Test("each fault has its reason and its place in the document", arguments: faults.indices)
    func faulty(index: Int) throws {
        let (changes, reason, pointer) = Self.faults[index]
        let rejection = try SampleMessages.rejection(structured(changes))
        #expect(rejection.reason == reason, "\(changes)")
        #expect(rejection.pointer.text == pointer, "\(changes)")
    }

    @Test("headers that lack an attribute, have another type or contradict one another are rejected")
    func faultyHeaders() throws {
        for name in ["specversion", "id", "source", "type"] {
            var attributes = Self.attributes
            attributes[name] = nil
            #expect(try SampleMessages.rejection(binary(prefix: "ce-", attributes)).pointer.text == "/\(name)")
            attributes[name] = 5
            #expect(try SampleMessages.rejection(binary(prefix: "ce-", attributes)).pointer.text == "/\(name)")
        }
        var envelope = binary(prefix: "ce-")
        envelope.headers.append(("cloudEvents:id", .string("8")))
        #expect(try SampleMessages.rejection(envelope).pointer.text == "/id")
    }

    @Test("headers of other purposes do not make a message a CloudEvent")
    func otherHeaders() throws {
        var envelope = SampleMessages.envelope(SampleMessages.complete)
        envelope.headers = [("ce-region", .string("eu")), ("cell", .string("7")), ("", .other), ("ce-", .integer(1))]
        #expect(try SampleMessages.event(envelope).id.text == "evt_1")
    }

    @Test("the extension traceparent replaces the header")
    func traces() throws {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        #expect(try SampleMessages.event(structured(["traceparent": .string(trace)])).traceParent?.text == trace)
        #expect(try SampleMessages.event(structured(["traceparent": "x"])).traceParent == nil)
    }

    @Test("the level that CloudEvents adds does not count towards the limit of 32")
    func depth() throws {
        // The fields to and data are the first levels; the value below has 31 levels, 32 with the data, 33 with the
        // fields.
        func nested(_ levels: Int) -> JSONValue {
            (0..<levels).reduce(JSONValue.null) { value, _ in [value] }
        }
        var data = Self.data
        data["data"] = ["deep": nested(30)]
        #expect(throws: Never.self) { try SampleMessages.event(structured(["data": .object(data)])) }
        data["data"] = ["deep": nested(31)]
        #expect(try SampleMessages.rejection(structured(["data": .object(data)])).reason == .malformedJSON)
    }

    @Test("a rejected CloudEvent keeps its app, type and id")
    func names() throws {
        var envelope = structured(["specversion": "0.3"])
        envelope.source = .elsewhere
        envelope.appID = "drop"
        let rejection = try SampleMessages.rejection(envelope)
        #expect(rejection.app?.text == "drop")
        #expect(rejection.eventType?.text == "security")
        #expect(rejection.eventID?.text == "https://auth.getdrop.no/7")
    }

    @Test("feed messages and cancellations are accepted in these forms, too")
    func otherSubmissions() throws {
        var envelope = structured(["type": "event.cancelled", "data": ["id": "evt_5"]])
        envelope.source = .eventsExchange(routingKey: "drop.event.cancelled")
        guard case .cancellation(let app, let id) = try SampleMessages.parse(envelope).get() else { throw Unexpected() }
        #expect(app.text == "drop")
        #expect(id.text == "evt_5")
        envelope = structured(["type": "recipient.deleted", "data": ["userId": "u1"]])
        envelope.source = .eventsExchange(routingKey: "drop.recipient.deleted")
        guard case .feed(let update) = try SampleMessages.parse(envelope).get() else { throw Unexpected() }
        #expect(update.change.user.text == "u1")
        #expect(update.sentAt?.description == "2026-02-15T13:45:00.000Z")
    }

    private struct Unexpected: Error {}

    @Test("an unknown type has the pointer of the attribute or of the member that names it")
    func unknownType() throws {
        func pointer(_ document: JSONObject) throws -> String {
            var envelope = SampleMessages.envelope(document)
            envelope.contentType = "application/cloudevents+json"
            let rejection = try SampleMessages.rejection(envelope)
            #expect(rejection.reason == .unknownType)
            return rejection.pointer.text
        }
        var document: JSONObject = [
            "specversion": "1.0", "id": "7", "source": "s", "type": "nosuch",
            "data": ["app": "drop", "to": ["user": "u"]],
        ]
        #expect(try pointer(document) == "/type")
        document["data"] = ["app": "drop", "eventType": "nosuch"]
        #expect(try pointer(document) == "/data/eventType")
        var binary = SampleMessages.envelope(#"{"app":"drop"}"#)
        binary.headers = ["specversion": "1.0", "id": "7", "source": "s", "type": "nosuch"]
            .map { ("ce-\($0.key)", HeaderValue.string($0.value)) }
        #expect(try SampleMessages.rejection(binary).pointer.text == "/type")
    }
}
