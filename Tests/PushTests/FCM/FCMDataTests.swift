import BellhopRules
import Push
import Testing

@Suite("FCM's data")
struct FCMDataTests {
    private func data(_ change: (inout PushMessage) -> Void) throws -> [String: String] {
        var message = try SamplePushes.plain()
        change(&message)
        return try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now))).data
    }

    @Test("a name that FCM or APNs reserve gets the prefix x_")
    func reserved() throws {
        let names = [
            "from", "message_type", "collapse_key", "aps", "fcm_options", "gcm", "gcm.n.e", "google.ttl", "googled",
        ]
        let data = try data { message in
            for name in names { message.data[name] = .string("v-\(name)") }
        }
        for name in names {
            #expect(data[name] == nil)
            #expect(data["x_\(name)"] == "v-\(name)")
        }
    }

    @Test(
        "names that only resemble reserved ones are unchanged",
        arguments: ["fromage", "apsis", "g", "message", "goo"]
    )
    func unreserved(_ name: String) throws {
        #expect(try data { $0.data[name] = "v" }[name] == "v")
    }

    @Test("a renamed member never replaces one that has the name already")
    func renamedClash() throws {
        let data = try data { $0.data = ["from": "renamed", "x_from": "own"] }
        #expect(data["x_from"] == "own")
    }

    @Test("Bellhop's names take precedence over the event's data, which may use Bellhop's unused names")
    func precedence() throws {
        let data = try data { message in
            message.venueID = "42"
            message.metadata = ["venueId": "m", "shared": "m"]
            message.data = [
                "venueId": "d", "venue_id": "d", "notificationId": "d", "shared": "d", "dataOmitted": "d", "own": "d",
                "targetId": "d", "digest": "d", "count": "d",
            ]
        }
        let expected = [
            "type": "transaction_complete", "eventType": "transaction_complete", "venueId": "42", "venue_id": "42",
            "notificationId": "noti_00000000000000ab", "metadata": #"{"shared":"m","venueId":"m"}"#, "shared": "d",
            "own": "d", "targetId": "d", "digest": "d", "count": "d",
        ]
        #expect(data == expected)
    }

    @Test("null and empty names are omitted")
    func nothing() throws {
        let data = try data { $0.data = ["b": .null, "": "nameless"] }
        #expect(data["b"] == nil)
        #expect(data[""] == nil)
    }

    @Test("every value is a text, and numbers keep all digits")
    func texts() throws {
        let wei = try JSONParser().parse(Array(#"{"wei":123456789012345678901234567890,"e":1.50}"#.utf8)).get()
        let data = try data { $0.data = wei.object ?? [:] }
        #expect(data["wei"] == "123456789012345678901234567890")
        #expect(data["e"] == "1.50")
    }
}
