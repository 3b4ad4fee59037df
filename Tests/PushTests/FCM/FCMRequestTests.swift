import BellhopRules
import Push
import Testing

@Suite("FCM's request body")
struct FCMRequestTests {
    private func text(_ message: PushMessage) throws -> String {
        String(decoding: try #require(FCMRequest.body(of: message, now: SamplePushes.now)), as: UTF8.self)
    }

    private func read(_ message: PushMessage) throws -> ReadBody {
        try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now)))
    }

    private static let words = """
        "token":"device-token","notification":{"title":"Betaling mottatt","body":"Du har mottatt 2 000 kr"
        """

    /// The app's data, with the platform's form of the link.
    ///
    /// It contains the badge if the platform has no separate place for it.
    private static func data(route: String, badge: String = "") -> String {
        """
        "data":{"notificationId":"noti_00000000000000ab","type":"transaction_complete",\
        "eventType":"transaction_complete","route":"\(route)","targetId":"tx_rem_1","venueId":"42","venue_id":"42",\
        "metadata":"{\\"matchId\\":\\"m-1\\"}",\(badge)"link":"/transactions?id=tx_rem_1",\
        "scheme":"drop://transactions/tx_rem_1","amount":"2 000 kr","count":"3","paid":"true",\
        "parts":"[1,{\\"b\\":\\"x\\"}]"}
        """
    }

    private static let image = #","image":"https://cdn.example/a.png"},"#

    @Test("an Android message has its texts, its data and the Android block, in a fixed order")
    func android() throws {
        let data = Self.data(route: "/transactions/tx_rem_1", badge: #""badge":"4","#)
        let expected = """
            {"message":{\(Self.words)\(Self.image)\(data),"android":{"priority":"HIGH","ttl":"3600s","notification":{\
            "tag":"noti_00000000000000ab","channel_id":"payments","visibility":"PUBLIC",\
            "notification_priority":"PRIORITY_HIGH","sound":"ding","icon":"ic_pay","color":"#0B6E35",\
            "notification_count":4}}}}
            """
        #expect(try text(SamplePushes.full(.android)) == expected)
    }

    @Test("an iOS message has the headers and the aps keys that APNs requires")
    func apple() throws {
        let data = Self.data(route: "/transactions/tx_rem_1")
        let expected = """
            {"message":{\(Self.words)},\(data),"apns":{"headers":{"apns-collapse-id":"noti_00000000000000ab",\
            "apns-expiration":"1771166700","apns-priority":"10","apns-push-type":"alert"},"payload":{"aps":{"badge":4,\
            "mutable-content":1,"sound":"ding.caf","category":"payment","thread-id":"payments",\
            "interruption-level":"time-sensitive"}},"fcm_options":{"image":"https://cdn.example/a.png"}}}}
            """
        #expect(try text(SamplePushes.full(.ios)) == expected)
    }

    @Test("a browser's message has the headers and the tag that Web Push requires")
    func web() throws {
        let data = Self.data(route: "/transactions?id=tx_rem_1", badge: #""badge":"4","#)
        let expected = """
            {"message":{\(Self.words)\(Self.image)\(data),"webpush":{"headers":{"TTL":"3600","Urgency":"high",\
            "Topic":"9deb69e1d4b82cdaad1449bb587cdddf"},"notification":{"tag":"noti_00000000000000ab"}}}}
            """
        #expect(try text(SamplePushes.full(.web)) == expected)
    }

    @Test("a body omits every member that the message does not have")
    func bare() throws {
        var message = try SamplePushes.plain()
        message.body = ""
        let expected = """
            {"message":{"token":"device-token","notification":{"title":"Betaling mottatt"},"data":{\
            "notificationId":"noti_00000000000000ab","type":"transaction_complete",\
            "eventType":"transaction_complete"},"android":{"priority":"HIGH",\
            "notification":{"tag":"noti_00000000000000ab"}}}}
            """
        #expect(try text(message) == expected)
        message.device.platform = .ios
        message.presentation.apple.sound = nil
        #expect(try read(message)["/apns/payload"] == nil)
    }

    @Test("each Android value of a catalogue has its name in FCM")
    func androidNames() throws {
        let visibilities = ["public": "PUBLIC", "private": "PRIVATE", "secret": "SECRET"]
        for visibility in AndroidOptions.Visibility.allCases {
            var message = try SamplePushes.plain()
            message.presentation.android.visibility = visibility
            let sent = try read(message)["/android/notification/visibility"]?.string
            #expect(sent == visibilities[visibility.rawValue])
        }
        for importance in AndroidOptions.Importance.allCases {
            var message = try SamplePushes.plain()
            message.presentation.android.importance = importance
            let sent = try read(message)["/android/notification/notification_priority"]?.string
            #expect(sent == "PRIORITY_" + importance.rawValue.uppercased())
        }
    }

    @Test("each of Apple's options is sent separately, even if all others are left to the app")
    func appleOptions() throws {
        let table: [(ApplePresentation, String, String)] = [
            (.init(sound: nil, category: "c"), "category", "c"), (.init(sound: nil, thread: "t"), "thread-id", "t"),
            (.init(sound: nil, interruptionLevel: .passive), "interruption-level", "passive"),
            (.init(sound: "s"), "sound", "s"),
        ]
        for (presentation, key, value) in table {
            var message = try SamplePushes.plain(.ios)
            message.presentation.apple = presentation
            #expect(try read(message)["/apns/payload/aps"]?.object?.members.map(\.key) == [key])
            #expect(try read(message)["/apns/payload/aps/\(key)"]?.string == value)
        }
    }

    @Test("only a message with low priority is sent with normal priority", arguments: Priority.allCases)
    func priority(_ priority: Priority) throws {
        var message = try SamplePushes.plain()
        message.priority = priority
        #expect(try read(message)["/android/priority"]?.string == (priority == .low ? "NORMAL" : "HIGH"))
        message.device.platform = .ios
        #expect(try read(message)["/apns/headers/apns-priority"]?.string == (priority == .low ? "5" : "10"))
    }

    @Test(
        "the time to live is between zero and four weeks",
        arguments: [(-5_000_000, "0s"), (999_999, "0s"), (61_500_000, "61s"), (9_000_000_000_000, "2419200s")]
    )
    func lifetime(_ microseconds: Int64, _ expected: String) throws {
        var message = try SamplePushes.plain()
        message.expiry = Timestamp(clamping: SamplePushes.now.microseconds + microseconds)
        #expect(try read(message)["/android/ttl"]?.string == expected)
    }

    @Test("an event's collapse key replaces the notification's id, as a hash if APNs cannot carry it")
    func collapseKey() throws {
        var message = try SamplePushes.plain(.ios)
        let pointer = "/apns/headers/apns-collapse-id"
        message.collapseKey = "match-7"
        #expect(try read(message)[pointer]?.string == "match-7")
        message.collapseKey = String(repeating: "k", count: 64)
        #expect(try read(message)[pointer]?.string == message.collapseKey)
        for key in [String(repeating: "k", count: 65), "kamp på lørdag", ""] {
            message.collapseKey = key
            let sent = try #require(try read(message)[pointer]?.string)
            #expect(sent.utf8.count == 64 && sent.allSatisfy(\.isHexDigit), "\(key)")
            #expect(try read(message)[pointer]?.string == sent)
        }
    }
}
