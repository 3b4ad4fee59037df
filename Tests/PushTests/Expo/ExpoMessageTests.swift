import BellhopRules
import Push
import TestSupport
import Testing

@Suite("Expo's messages")
struct ExpoMessageTests {
    private func bytes(_ message: PushMessage) throws -> [UInt8] {
        try #require(ExpoMessage.bytes(of: message, now: SamplePushes.now))
    }

    private func text(_ message: PushMessage) throws -> String { String(decoding: try bytes(message), as: UTF8.self) }

    private func read(_ message: PushMessage) throws -> JSONValue { try JSONParser().parse(bytes(message)).get() }

    private static let common = """
        "to":"ExponentPushToken[phone]","title":"Betaling mottatt","body":"Du har mottatt 2 000 kr",\
        "data":{"notificationId":"noti_00000000000000ab","type":"transaction_complete",\
        "eventType":"transaction_complete","route":"/transactions/tx_rem_1","targetId":"tx_rem_1","venueId":"42",\
        "venue_id":"42","metadata":{"matchId":"m-1"},
        """

    private static let rest = """
        "link":"/transactions?id=tx_rem_1","scheme":"drop://transactions/tx_rem_1","amount":"2 000 kr","count":3,\
        "paid":true,"parts":[1,{"b":"x"}]},"ttl":3600,"priority":"high","badge":4
        """

    @Test("an Android message has its channel, its icon and its tag, in a fixed order")
    func android() throws {
        let expected = """
            {\(Self.common)"badge":4,\(Self.rest),"sound":"ding","channelId":"payments","icon":"ic_pay","tag":"noti_00000000000000ab",\
            "richContent":{"image":"https://cdn.example/a.png"}}
            """
        #expect(try text(Expo.full(.android)) == expected)
    }

    @Test("an iOS message has its category, its level, its mutability and its collapse id")
    func apple() throws {
        let expected = """
            {\(Self.common)\(Self.rest),"sound":"ding.caf","categoryId":"payment","interruptionLevel":"time-sensitive",\
            "mutableContent":true,"collapseId":"noti_00000000000000ab",\
            "richContent":{"image":"https://cdn.example/a.png"}}
            """
        #expect(try text(Expo.full(.ios)) == expected)
    }

    @Test("a message without optional members contains none of them, except the time to live")
    func bare() throws {
        var message = try Expo.plain()
        message.body = ""
        let expected = """
            {"to":"ExponentPushToken[phone]","title":"Betaling mottatt","data":{\
            "notificationId":"noti_00000000000000ab","type":"transaction_complete","eventType":"transaction_complete"},\
            "ttl":2419200,"priority":"high","tag":"noti_00000000000000ab"}
            """
        #expect(try text(message) == expected)
    }

    @Test("a badge update is silent and contains only the badge, in the data if the platform has no badge")
    func badgeUpdate() throws {
        var message = try Expo.full(.ios)
        message.purpose = .badgeUpdate
        message.badge = 0
        let apple = """
            {"to":"ExponentPushToken[phone]","data":{"type":"transaction_complete",\
            "notificationId":"noti_00000000000000ab"},"ttl":3600,"priority":"normal","badge":0,\
            "collapseId":"noti_00000000000000ab","_contentAvailable":true}
            """
        #expect(try text(message) == apple)
        message.device.platform = .android
        let android = """
            {"to":"ExponentPushToken[phone]","data":{"type":"transaction_complete",\
            "notificationId":"noti_00000000000000ab","badge":0},"ttl":3600,"priority":"normal","_contentAvailable":true}
            """
        #expect(try text(message) == android)
    }

    @Test("only a message with low priority is sent with normal priority", arguments: Priority.allCases)
    func priority(_ priority: Priority) throws {
        var message = try Expo.plain()
        message.priority = priority
        #expect(try read(message)["priority"]?.string == (priority == .low ? "normal" : "high"))
    }

    @Test(
        "the time to live is between zero and four weeks",
        arguments: [
            (-5_000_000, 0), (999_999, 0), (61_500_000, 61), (9_000_000_000_000, 2_419_200),
            (.max, 2_419_200), (.min, 0),
        ]
    )
    func lifetime(_ microseconds: Int64, _ seconds: Int64) throws {
        var message = try Expo.plain()
        let (sum, isTooFar) = SamplePushes.now.microseconds.addingReportingOverflow(microseconds)
        message.expiry = Timestamp(clamping: isTooFar ? microseconds : sum)
        #expect(try read(message)["ttl"]?.number?.int64 == seconds)
    }

    @Test("of equal names the first is used, Bellhop's before the event's, and null and empty names are omitted")
    func names() throws {
        var message = try Expo.plain()
        message.targetID = "ours"
        message.metadata = ["a": "metadata"]
        message.data = [
            "a": "data", "notificationId": "x", "n": .null, "": "x", "link": "data", "dataOmitted": "x",
            "metadata": "x",
        ]
        let value = try read(message)
        let data = try #require(value["data"]?.object)
        let expected: JSONObject = [
            "notificationId": "noti_00000000000000ab", "type": "transaction_complete",
            "eventType": "transaction_complete", "targetId": "ours", "metadata": ["a": "metadata"], "a": "data",
            "link": "data",
        ]
        #expect(data == expected)
        #expect(data.count == data.members.count && Set(data.members.map(\.key)).count == data.count)
    }

    @Test("a message that is too long is shortened: the body, the title, all data, then the image")
    func shortening() throws {
        var message = try Expo.full(.ios)
        message.body = String(repeating: "b", count: 8000)
        #expect(try bytes(message).count == 4096)
        #expect(try read(message)["body"]?.string?.hasSuffix("b…") == true)
        #expect(try read(message)["data"]?["amount"] == "2 000 kr")
        message.data["blob"] = .string(String(repeating: "x", count: 4000))
        message.body = "short"
        #expect(try read(message)["data"]?["dataOmitted"] == true)
        #expect(try read(message)["data"]?["metadata"] == nil)
        #expect(try read(message)["data"]?["targetId"] == "tx_rem_1")
        #expect(try read(message)["richContent"] != nil)
        message.link = .init(web: "/" + String(repeating: "w", count: 1800), mobile: "/")
        message.imageURL = "https://cdn.example/" + String(repeating: "i", count: 2000)
        #expect(try read(message)["richContent"] == nil)
        #expect(try read(message)["body"]?.string == "short")
        message.link = .init(web: "/" + String(repeating: "w", count: 4000), mobile: "/")
        #expect(ExpoMessage.bytes(of: message, now: SamplePushes.now) == nil)
    }

    @Test("a random message is JSON within the limit, or is rejected")
    func random() throws {
        var generator = SeededChance.announced("Expo messages")
        for _ in 0..<SeededChance.rounds(300) {
            let message = try Expo.addressed(RandomMessage.make(using: &generator), to: "phone")
            guard let bytes = ExpoMessage.bytes(of: message, now: SamplePushes.now) else { continue }
            #expect(bytes.count <= 4096)
            let value = try JSONParser().parse(bytes).get()
            #expect(value["data"]?["notificationId"]?.string == message.notification.text)
        }
    }
}
