import BellhopRules
import HTTPTransfer
import Push
import Testing

/// Thrown for a message of which no push was made.
struct NoPush: Error {
    let draft: APNsPush.Draft
}

extension APNsPush {
    static func made(of message: PushMessage) throws -> APNsPush {
        switch draft(of: message, topic: "com.example.drop") {
        case .push(let push): return push
        case let draft: throw NoPush(draft: draft)
        }
    }

    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    func json() throws -> JSONValue {
        try JSONParser().parse(body).get()
    }
}

@Suite("APNs' request")
struct APNsPushTests {
    private func full() throws -> PushMessage {
        var message = try SamplePushes.full(.ios)
        message.device.provider = .apns
        message.device.token = try #require(DeviceToken(validating: "00fc13adff785122"))
        return message
    }

    private func refusal(_ message: PushMessage) -> Verdict? {
        guard case .refused(let verdict) = APNsPush.draft(of: message, topic: "t") else { return nil }
        return verdict
    }

    @Test("a message has its texts and keys in aps and the app's members outside of it, with metadata as an object")
    func payload() throws {
        let expected = """
            {"aps":{"alert":{"title":"Betaling mottatt","body":"Du har mottatt 2 000 kr"},"badge":4,\
            "mutable-content":1,"sound":"ding.caf","category":"payment","thread-id":"payments",\
            "interruption-level":"time-sensitive"},"notificationId":"noti_00000000000000ab",\
            "type":"transaction_complete","eventType":"transaction_complete","route":"/transactions/tx_rem_1",\
            "targetId":"tx_rem_1","venueId":"42","venue_id":"42","metadata":{"matchId":"m-1"},\
            "link":"/transactions?id=tx_rem_1","scheme":"drop://transactions/tx_rem_1",\
            "imageUrl":"https://cdn.example/a.png","amount":"2 000 kr","count":"3","paid":"true",\
            "parts":"[1,{\\"b\\":\\"x\\"}]"}
            """
        #expect(String(decoding: try APNsPush.made(of: full()).body, as: UTF8.self) == expected)
    }

    @Test("a request omits every member that the message does not have")
    func bare() throws {
        var message = try SamplePushes.apple()
        message.body = ""
        message.presentation.apple.sound = nil
        let push = try APNsPush.made(of: message)
        let expected = """
            {"aps":{"alert":{"title":"Betaling mottatt"}},"notificationId":"noti_00000000000000ab",\
            "type":"transaction_complete","eventType":"transaction_complete"}
            """
        #expect(String(decoding: push.body, as: UTF8.self) == expected)
        #expect(push.header("apns-expiration") == nil)
        #expect(push.path == "/3/device/00fc13adff785122")
    }

    @Test("an event's data never replaces Bellhop's members or aps")
    func names() throws {
        var message = try full()
        message.data = ["aps": "a", "imageUrl": "b", "type": "c", "own": "d"]
        let json = try APNsPush.made(of: message).json()
        #expect(json["aps"]?.object != nil)
        #expect(json["x_aps"] == "a")
        #expect(json["imageUrl"] == "https://cdn.example/a.png")
        #expect(json["type"] == "transaction_complete")
        #expect(json["own"] == "d")
        #expect(json.object?.members.count { $0.key == "imageUrl" } == 1)
        message.imageURL = nil
        #expect(try APNsPush.made(of: message).json()["imageUrl"] == "b")
    }

    @Test("headers contain topic, type, expiry and collapse id")
    func headers() throws {
        let push = try APNsPush.made(of: full())
        #expect(push.header("apns-topic") == "com.example.drop")
        #expect(push.header("apns-push-type") == "alert")
        #expect(push.header("apns-expiration") == "1771166700")
        #expect(push.header("apns-collapse-id") == "noti_00000000000000ab")
        #expect(Set(push.headers.map(\.name)).count == push.headers.count)
        var message = try full()
        message.collapseKey = String(repeating: "k", count: 65)
        #expect(try APNsPush.made(of: message).header("apns-collapse-id")?.utf8.count == 64)
    }

    @Test("only a push with low priority is sent with priority 5", arguments: Priority.allCases)
    func priority(_ priority: Priority) throws {
        var message = try SamplePushes.apple()
        message.priority = priority
        #expect(try APNsPush.made(of: message).header("apns-priority") == (priority == .low ? "5" : "10"))
    }

    @Test("the id is a UUID that is equal for repeats and differs for another device or notification")
    func id() throws {
        let id = try #require(try APNsPush.made(of: full()).header("apns-id"))
        let groups = id.split(separator: "-")
        #expect(groups.map(\.count) == [8, 4, 4, 4, 12])
        #expect(groups[2].hasPrefix("8") && groups[3].hasPrefix("8"))
        #expect(id.allSatisfy { "0123456789abcdef-".contains($0) })
        var repeated = try SamplePushes.apple(token: "ab")
        repeated.title = "Other words"
        #expect(try APNsPush.made(of: repeated).header("apns-id") == id)
        var other = try full()
        other.device.subscription = "sub_0000000000000002"
        var ids: Set = [id, try APNsPush.made(of: other).header("apns-id")]
        ids.insert(try APNsPush.made(of: SamplePushes.apple(notification: 0xAC)).header("apns-id"))
        var badge = try full()
        badge.purpose = .badgeUpdate
        ids.insert(try APNsPush.made(of: badge).header("apns-id"))
        badge.badge = 5
        ids.insert(try APNsPush.made(of: badge).header("apns-id"))
        #expect(ids.count == 5)
    }

    @Test("a badge update contains only the badge, with priority 5 and a separate collapse id")
    func badgeUpdate() throws {
        var message = try full()
        message.purpose = .badgeUpdate
        message.title = ""
        message.body = ""
        let push = try APNsPush.made(of: message)
        #expect(String(decoding: push.body, as: UTF8.self) == #"{"aps":{"badge":4}}"#)
        #expect(push.header("apns-push-type") == "alert")
        #expect(push.header("apns-priority") == "5")
        #expect(push.header("apns-collapse-id") == "bellhop-badge")
        message.badge = -1
        #expect(String(decoding: try APNsPush.made(of: message).body, as: UTF8.self) == #"{"aps":{"badge":0}}"#)
        message.badge = nil
        #expect(refusal(message) == .payloadError(.invalidRequest))
    }

    @Test(
        "a token that is not pairs of hexadecimal digits never becomes a path",
        arguments: ["a", "abc", "xy", "../x", "00fc 3ad", "00/1", "éé", "00?a=b1"]
    )
    func badToken(_ token: String) throws {
        #expect(try refusal(SamplePushes.apple(token: token)) == .deviceGone(.invalidToken, at: nil))
    }

    @Test("tokens of any even length up to a thousand digits, in either case, are used unchanged")
    func tokens() throws {
        for token in ["ab", "ABcd", String(repeating: "0f", count: 512)] {
            #expect(try APNsPush.made(of: SamplePushes.apple(token: token)).path == "/3/device/" + token)
        }
        let long = String(repeating: "0f", count: 513)
        #expect(try refusal(SamplePushes.apple(token: long)) == .deviceGone(.invalidToken, at: nil))
    }

    @Test("a message of another provider is rejected")
    func provider() throws {
        #expect(try refusal(SamplePushes.plain(.ios)) == .payloadError(.wrongProvider))
    }

    @Test("an expiry in any year fits into the header", arguments: [(0, "0"), (Int64.max, "4294967295")])
    func expiry(_ microseconds: Int64, _ expected: String) throws {
        var message = try SamplePushes.apple()
        message.expiry = Timestamp(clamping: microseconds)
        #expect(try APNsPush.made(of: message).header("apns-expiration") == expected)
    }
}
