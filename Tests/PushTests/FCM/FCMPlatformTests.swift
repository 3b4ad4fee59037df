import BellhopRules
import Push
import Testing

@Suite("FCM's blocks of the platforms")
struct FCMPlatformTests {
    private func read(_ message: PushMessage) throws -> ReadBody {
        try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now)))
    }

    private func badgeUpdate(_ platform: DevicePlatform, badge: Int? = 4) throws -> PushMessage {
        var message = try SamplePushes.full(platform)
        message.purpose = .badgeUpdate
        message.title = ""
        message.body = ""
        message.badge = badge
        return message
    }

    private func text(_ message: PushMessage) throws -> String {
        String(decoding: try #require(FCMRequest.body(of: message, now: SamplePushes.now)), as: UTF8.self)
    }

    @Test("an iOS image is in the place for the app's extension, and lets the extension run")
    func appleImage() throws {
        var message = try SamplePushes.plain(.ios)
        message.presentation.apple.sound = nil
        message.imageURL = "https://cdn.example/a.png"
        let body = try read(message)
        #expect(body["/apns/fcm_options/image"]?.string == message.imageURL)
        #expect(body["/apns/payload/aps"] == ["mutable-content": 1])
        #expect(body["/notification/image"] == nil)
    }

    @Test("a critical sound is a dictionary, and only for the critical level")
    func criticalSound() throws {
        var message = try SamplePushes.plain(.ios)
        message.presentation.apple = .init(sound: "alarm.caf", interruptionLevel: .critical)
        #expect(
            try read(message)["/apns/payload/aps/sound"] == ["critical": 1, "name": "alarm.caf", "volume": 1]
        )
        message.presentation.apple.sound = nil
        #expect(try read(message)["/apns/payload/aps/sound"] == nil)
    }

    @Test(
        "a browser's topic is the same as with direct Web Push",
        arguments: [nil, "match-7_A", "a b ⚽️"] as [String?]
    )
    func webTopic(_ key: String?) throws {
        var message = try SamplePushes.plain(.web)
        message.collapseKey = key
        let headers = WebPushRequest.headers(of: message, now: SamplePushes.now)
        let topic = try #require(headers.first { $0.name == "topic" }?.value)
        #expect(try read(message)["/webpush/headers/Topic"]?.string == topic)
    }

    @Test(
        "a link is in the browser's block only if it is https",
        arguments: [("https://app.example/t", true), ("/t", false), ("http://app.example/t", false)]
    )
    func webLink(_ link: String, _ isThere: Bool) throws {
        var message = try SamplePushes.plain(.web)
        message.link = .init(web: link, mobile: "/t")
        let body = try read(message)
        #expect(body["/webpush/fcm_options/link"]?.string == (isThere ? link : nil))
        #expect(body.data["link"] == link)
    }

    @Test("a badge update for iOS contains only the badge, with priority 5 and a separate collapse id")
    func appleBadge() throws {
        let expected = """
            {"message":{"token":"device-token","apns":{"headers":{"apns-collapse-id":"bellhop-badge",\
            "apns-expiration":"1771166700","apns-priority":"5","apns-push-type":"alert"},"payload":{"aps":{"badge":4}}}}}
            """
        #expect(try text(badgeUpdate(.ios)) == expected)
    }

    @Test("a badge update for Android contains only data, with normal priority")
    func androidBadge() throws {
        let expected = """
            {"message":{"token":"device-token","data":{"badge":"4"},"android":{"collapse_key":"bellhop-badge",\
            "priority":"NORMAL","ttl":"3600s"}}}
            """
        #expect(try text(badgeUpdate(.android)) == expected)
    }

    @Test("a badge stays within the range of the platforms", arguments: [(-3, 0), (0, 0), (Int.max, 2_147_483_647)])
    func badgeRange(_ badge: Int, _ expected: Int) throws {
        let body = try read(badgeUpdate(.ios, badge: badge))
        #expect(body["/apns/payload/aps/badge"]?.number?.int64 == Int64(expected))
        var message = try SamplePushes.plain()
        message.badge = badge
        #expect(try read(message)["/android/notification/notification_count"]?.number?.int64 == Int64(expected))
    }

    @Test("a badge update for a browser, or without a number, has no body")
    func noBadge() throws {
        #expect(try FCMRequest.body(of: badgeUpdate(.web), now: SamplePushes.now) == nil)
        #expect(try FCMRequest.body(of: badgeUpdate(.ios, badge: nil), now: SamplePushes.now) == nil)
    }
}
