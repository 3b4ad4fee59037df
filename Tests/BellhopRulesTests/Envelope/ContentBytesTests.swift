import BellhopRules
import Testing

@Suite("Content bytes")
struct ContentBytesTests {
    private func bytes(_ changes: KeyValuePairs<String, JSONValue?>) throws -> String {
        let event = try SampleMessages.event(SampleMessages.envelope(SampleMessages.changed(changes)))
        return event.withContentBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("the form is fixed, because hashes of it are stored for years")
    func form() throws {
        let all = try bytes([
            "title": "T", "body": "B", "data": ["z": 1, "a": ["y": "å", "x": .null]], "route": "/r", "targetId": "t",
            "metadata": ["k": "v"], "venueId": "42", "imageUrl": "https://a/b", "collapseKey": "c",
            "deliverAt": "2026-02-15T13:45:00.000001Z", "expiresAt": "2026-02-15T13:45:00Z",
        ])
        let expected = """
            {"body":"B","collapseKey":"c","data":{"a":{"x":null,"y":"å"},"z":1},"deliverAt":1771163100000001,\
            "expiresAt":1771163100000000,"imageUrl":"https://a/b","metadata":{"k":"v"},"route":"/r","targetId":"t",\
            "title":"T","type":"security","venueId":"42"}
            """
        #expect(all == expected)
        #expect(try bytes(["title": nil]) == #"{"type":"security"}"#)
        let routes: JSONValue = ["web": "/w", "mobile": "/m", "scheme": .null, "else": 1]
        let separate = #"{"route":{"mobile":"/m","web":"/w"},"type":"security"}"#
        #expect(try bytes(["title": nil, "route": routes]) == separate)
    }

    @Test("time of sending, audience, spelling of absence and unknown fields do not change the content")
    func indifferent() throws {
        let plain = try bytes([:])
        #expect(try bytes(["sentAtIso": "2026-02-15T13:45:00Z"]) == plain)
        #expect(try bytes(["to": ["topic": "t"]]) == plain)
        #expect(try bytes(["data": [:], "metadata": .null, "body": .null, "noEmail": false, "unknown": 5]) == plain)
        let deliver = try bytes(["deliverAt": "2026-02-15T13:45:00Z"])
        #expect(try bytes(["deliverAt": "2026-02-15T14:45:00.000+01:00"]) == deliver)
    }

    @Test(
        "everything that a user would see or that changes the delivery is content",
        arguments: [
            ("title", "x"), ("body", "x"), ("data", ["a": 1]), ("route", "/x"), ("targetId", "x"), ("venueId", "x"),
            ("metadata", ["a": "b"]), ("imageUrl", "https://x"), ("collapseKey", "x"),
            ("deliverAt", "2026-02-15T13:45:00Z"), ("noEmail", true),
            ("expiresAt", "2026-02-15T13:45:00Z"), ("eventType", "system"), ("body", ""),
        ] as [(String, JSONValue)]
    )
    func different(key: String, value: JSONValue) throws {
        #expect(try bytes([key: value]) != bytes([:]))
    }

    @Test("the same text in another field is other content")
    func unambiguous() throws {
        #expect(
            try bytes(["title": "a", "body": "b\",\"route\":\"c"]) != bytes(["title": "a", "body": "b", "route": "c"])
        )
        #expect(try bytes(["data": ["a": "1"]]) != bytes(["data": ["a": 1]]))
        #expect(try bytes(["targetId": "x"]) != bytes(["venueId": "x"]))
    }
}
