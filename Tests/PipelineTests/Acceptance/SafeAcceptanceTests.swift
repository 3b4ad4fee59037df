import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

/// The wallet of several owners: FCM for iPhones and Androids.
@Suite(
    "Acceptance: safe",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct SafeAcceptanceTests {
    private static let address = "0x5aFE3855358E112B5647B952709E6165e1c1eEEe"

    private static func publish(_ peer: ProviderPeer, _ id: String, _ type: String, _ more: String = "")
        async throws
    {
        let data = #""chainId":"1","address":"\#(address)"\#(more)"#
        let body = #"{"id":"\#(id)","to":{"user":"sara"},"data":{\#(data)}}"#
        try await peer.pipeline.publish([peer.pipeline.event(body, key: "safe.\(type)")])
    }

    /// Returns the messages to a device, in the order of their arrival.
    private static func messages(_ peer: ProviderPeer, to token: String) throws -> [JSONValue] {
        let requests = peer.sandbox.received(.fcm).filter { $0.token == token }
        #expect(requests.allSatisfy { $0.refused == nil })
        return try requests.map { try #require($0.body["message"]) }
    }

    @Test(
        "Android gets a public channel of importance HIGH, iPhones a text that the extension may rewrite"
    )
    func looks() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            try await peer.register("sara", "ios", token: "sara-ios")
            try await peer.register("sara", "android", token: "sara-android")
            try await Self.publish(peer, "in", "INCOMING_ETHER", #","value":"1500000000000000001""#)
            try await peer.waitUntilSettled(2)
            try await Self.publish(peer, "ask", "CONFIRMATION_REQUEST")
            try await peer.waitUntilSettled(4)
            let android = try Self.messages(peer, to: "sara-android")
            Self.expectLooks(android: android, apple: try Self.messages(peer, to: "sara-ios"))
        }
    }

    private static func expectLooks(android: [JSONValue], apple: [JSONValue]) {
        let shown = android.compactMap { $0["data"] }
        #expect(shown.compactMap { $0["title"]?.string } == ["1.5 ETH received", "Confirmation required"])
        #expect(shown.first?["body"] == "Safe 0x5aFE…eEEe on Ethereum")
        #expect(shown.compactMap { $0["channelId"]?.string } == ["transactions", "confirmations"])
        #expect(shown.compactMap { $0["visibility"]?.string } == ["public", "public"])
        #expect(shown.compactMap { $0["importance"]?.string } == ["high", "high"])
        #expect(android.allSatisfy { $0["notification"] == nil })
        let keys = apple.compactMap { $0["apns"]?["payload"]?["aps"] }
        #expect(keys.compactMap { $0["mutable-content"] } == [1, 1])
    }

    @Test("the badge rises with each unread notification, and a read on one device lowers it silently on the others")
    func badge() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            try await peer.register("sara", "ios", token: "sara-ios")
            try await peer.register("sara", "ios", token: "sara-ipad")
            try await peer.register("sara", "android", token: "sara-android")
            for (index, id) in ["one", "two", "three"].enumerated() {
                try await Self.publish(peer, id, "CONFIRMATION_REQUEST")
                try await peer.waitUntilSettled(3 * (index + 1))
            }
            let badges = { (token: String) in
                try Self.messages(peer, to: token).map { $0["apns"]?["payload"]?["aps"]?["badge"] }
            }
            #expect(try badges("sara-ios") == [1, 2, 3])
            #expect(try badges("sara-ipad") == [1, 2, 3])
            try await peer.read("sara", where: "event_id = 'one'")
            try await eventually("all are told") { peer.sandbox.received(.fcm).count >= 12 }
            #expect(try badges("sara-ios") == [1, 2, 3, 2])
            #expect(try badges("sara-ipad") == [1, 2, 3, 2])
            let update = try #require(try Self.messages(peer, to: "sara-ipad").last)
            #expect(update["notification"] == nil)
            #expect(update["apns"]?["payload"] == ["aps": ["badge": 2]])
            let android = try Self.messages(peer, to: "sara-android")
            #expect(android.compactMap { $0["data"]?["badge"]?.string } == ["1", "2", "3", "2"])
            #expect(android.last?["data"] == ["badge": "2"])
        }
    }

    @Test("an app's own report of a read lowers the badge once, and waiting pushes of read notifications are not sent")
    func readElsewhere() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            let pipeline = peer.pipeline
            try await peer.register("sara", "ios", token: "sara-ios")
            for (index, id) in ["one", "two", "three"].enumerated() {
                try await Self.publish(peer, id, "CONFIRMATION_REQUEST")
                try await peer.waitUntilSettled(index + 1)
            }
            let badges = {
                try Self.messages(peer, to: "sara-ios").map { $0["apns"]?["payload"]?["aps"]?["badge"] }
            }
            let ids = try await pipeline.servers.column("SELECT id FROM notifications WHERE event_id = 'one'")
            let id = try #require(ids.compactMap { $0 }.first)
            try await peer.publish("notification.read", #"{"userId":"sara","ids":["\#(id)"]}"#)
            try await eventually("the lower number") { try badges() == [1, 2, 3, 2] }
            try await peer.publish("notification.read", #"{"userId":"sara","ids":["\#(id)"]}"#)
            try await peer.publish("notification.read", #"{"userId":"sara","all":true}"#)
            try await eventually("none is left") { try badges() == [1, 2, 3, 2, 0] }
            let stranger = #"{"userId":"otto","ids":["\#(id)"]}"#
            try await peer.publish("notification.read", stranger)
            let old = #"{"userId":"sara","all":true,"until":"2026-01-01T00:00:00Z"}"#
            try await Self.publish(peer, "four", "CONFIRMATION_REQUEST")
            try await peer.waitUntilSettled(4)
            try await peer.publish("notification.read", old)
            try await Self.publish(peer, "five", "CONFIRMATION_REQUEST")
            try await peer.waitUntilSettled(5)
            #expect(try badges() == [1, 2, 3, 2, 0, 1, 2])
            #expect(try await pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
        }
    }

    @Test("a confirmation request reaches only a Safe's owners; an owner who muted the Safe gets the record alone")
    func mutedSafe() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            let pipeline = peer.pipeline
            let topic = #""topic":"safe:1:\#(Self.address)""#
            for (user, role, muted) in [("sara", "owner", false), ("otto", "observer", false), ("mia", "owner", true)] {
                try await peer.register(user, "android", token: "\(user)-phone")
                let words = #"{"userId":"\#(user)",\#(topic),"role":"\#(role)","muted":\#(muted)}"#
                try await pipeline.publish([pipeline.event(words, key: "safe.follow.added")])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM follows WHERE user_id = '\(user)'")
            }
            for (id, type) in [("ask", "CONFIRMATION_REQUEST"), ("in", "INCOMING_ETHER")] {
                let data = #""chainId":"1","address":"\#(Self.address)","value":"1500000000000000001""#
                let body = #"{"id":"\#(id)","data":{\#(data)}}"#
                try await pipeline.publish([pipeline.event(body, key: "safe.\(type)")])
            }
            try await pipeline.wait(for: 2, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
            try await peer.waitUntilSettled(5)
            let fates = try await pipeline.servers.column(
                """
                SELECT concat_ws(' ', n.event_id, n.user_id, d.state, d.reason)
                FROM notifications n LEFT JOIN deliveries d ON d.user_id = n.user_id AND d.notification_id = n.id
                ORDER BY 1
                """
            )
            let expected = [
                "ask mia suppressed topic-muted", "ask sara delivered", "in mia suppressed topic-muted",
                "in otto delivered", "in sara delivered",
            ]
            #expect(fates == expected)
            let reached = peer.sandbox.received(.fcm).compactMap(\.token).sorted()
            #expect(reached == ["otto-phone", "sara-phone", "sara-phone"])
        }
    }

    @Test("a request for confirmation reaches the owners of a Safe, on the devices that they registered for it")
    func owners() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            let pipeline = peer.pipeline
            for device in ["sara-phone", "sara-tablet"] {
                try await peer.register("sara", "android", token: device)
            }
            try await peer.register("olav", "android", token: "olav-phone")
            let topic = #""topic":"safe:1:\#(Self.address)""#
            try await pipeline.publish([
                pipeline.event(
                    #"{"userId":"sara","role":"owner","token":"sara-phone",\#(topic)}"#,
                    key: "safe.follow.added"
                ),
                pipeline.event(#"{"userId":"olav","role":"observer",\#(topic)}"#, key: "safe.follow.added"),
            ])
            try await pipeline.wait(for: 2, "SELECT count(*) FROM follows")
            let data = #""data":{"chainId":"1","address":"\#(Self.address)"}"#
            let to = #""to":{"topic":"safe:1:\#(Self.address.lowercased())"}"#
            try await pipeline.publish([
                pipeline.event(#"{"id":"ask",\#(to),\#(data)}"#, key: "safe.CONFIRMATION_REQUEST")
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
            try await peer.waitUntilSettled(2)
            #expect(
                try await peer.fates() == [
                    "ask|sara|android|delivered", "ask|sara|android|suppressed|other-device",
                ]
            )
            #expect(peer.sandbox.received(.fcm).map(\.token) == ["sara-phone"])
        }
    }

    @Test("a follower's role is kept for the folded address, and an observer becomes an owner")
    func roles() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            let pipeline = peer.pipeline
            let topic = "safe:1:\(Self.address.lowercased())"
            for (role, time) in [("observer", "2026-01-01T10:00:00Z"), ("owner", "2026-01-01T11:00:00Z")] {
                let words = #""topic":"safe:1:\#(Self.address)","role":"\#(role)","sentAtIso":"\#(time)""#
                try await pipeline.publish([pipeline.event(#"{"userId":"sara",\#(words)}"#, key: "safe.follow.added")])
                try await pipeline.wait(
                    for: 1,
                    "SELECT count(*) FROM follows WHERE user_id = 'sara' AND topic = '\(topic)' AND role = '\(role)'"
                )
            }
            #expect(try await pipeline.servers.count("SELECT count(*) FROM follows") == 1)
            let end = #"{"userId":"sara","topic":"safe:1:\#(Self.address.uppercased())"}"#
            try await pipeline.publish([pipeline.event(end, key: "safe.follow.removed")])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM follows WHERE removed_at IS NOT NULL")
            #expect(try await pipeline.servers.count("SELECT count(*) FROM follows") == 1)
        }
    }
}
