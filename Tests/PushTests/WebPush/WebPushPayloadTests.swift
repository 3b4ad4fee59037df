import BellhopRules
import Push
import TestSupport
import Testing

@Suite("The payload for a service worker")
struct WebPushPayloadTests {
    private func payload(_ message: PushMessage, atMost limit: Int = 3993) throws -> JSONValue {
        let bytes = try #require(WebPushPayload.bytes(of: message, atMost: limit))
        #expect(bytes.count <= limit)
        return try JSONParser().parse(bytes).get()
    }

    @Test("a full message has every member, under the names of the contract")
    func full() throws {
        let bytes = try #require(WebPushPayload.bytes(of: Browsers.full(), atMost: 3993))
        let expected = """
            {"id":"noti_00000000000000ab","app":"drop","type":"transaction_complete","priority":"high",\
            "title":"Betaling mottatt","body":"Du har mottatt 2 000 kr","tag":"noti_00000000000000ab",\
            "url":"/transactions?id=tx_rem_1","image":"https://cdn.example/a.png","badge":4,\
            "expiresAt":"2026-02-15T14:45:00.000Z","notificationId":"noti_00000000000000ab",\
            "eventType":"transaction_complete","route":"/transactions?id=tx_rem_1","targetId":"tx_rem_1",\
            "venueId":"42","venue_id":"42","metadata":{"matchId":"m-1"},"scheme":"drop://transactions/tx_rem_1","data":{"amount":"2 000 kr","count":3,"nothing":null,"paid":true,\
            "parts":[1,{"b":"x"}]}}
            """
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    @Test("a plain message has only the members that are always present")
    func plain() throws {
        let payload = try payload(Browsers.message())
        let keys = ["id", "app", "type", "priority", "title", "body", "tag", "notificationId", "eventType"]
        #expect(payload.object?.members.map(\.key) == keys)
    }

    @Test("long texts are shortened, then the event's data and the image are omitted, and then the message is rejected")
    func shortening() throws {
        var message = try Browsers.full()
        message.body = String(repeating: "æ", count: 4000)
        let short = try payload(message)
        #expect(short["body"]?.string?.hasSuffix("…") == true)
        #expect(short["data"] != nil && short["title"]?.string == "Betaling mottatt")
        message.data["much"] = .string(String(repeating: "x", count: 5000))
        let bare = try payload(message)
        #expect(bare["data"] == nil && bare["metadata"] == nil && bare["dataOmitted"] == .bool(true))
        #expect(bare["image"] != nil)
        message.imageURL = "https://cdn.example/" + String(repeating: "i", count: 3900)
        #expect(try payload(message)["image"] == nil)
        message.link?.web = "/" + String(repeating: "u", count: 4000)
        #expect(WebPushPayload.bytes(of: message, atMost: 3993) == nil)
    }

    @Test("every message either fits and is complete JSON with its id, or is rejected")
    func random() throws {
        var generator = SeededChance.announced("Web Push payloads")
        var fitting = 0
        for _ in 0..<SeededChance.rounds(300) {
            let message = try RandomMessage.make(using: &generator)
            for limit in [2560, 3993] {
                guard let bytes = WebPushPayload.bytes(of: message, atMost: limit) else { continue }
                fitting += 1
                #expect(bytes.count <= limit)
                let value = try JSONParser().parse(bytes).get()
                #expect(value["id"]?.string == message.notification.text)
                #expect(value["title"]?.string?.isEmpty == false)
            }
        }
        #expect(fitting > 0)
    }

    @Test("the same message always gives the same bytes")
    func deterministic() throws {
        let message = try Browsers.full()
        #expect(WebPushPayload.bytes(of: message, atMost: 3993) == WebPushPayload.bytes(of: message, atMost: 3993))
    }
}
