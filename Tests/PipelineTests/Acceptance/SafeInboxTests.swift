import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

/// The calls of the wallet's clients to the inbox API, and the results.
extension SafeAcceptanceTests {
    private static let topic = "safe:1:0x5afe3855358e112b5647b952709e6165e1c1eeee"

    private static func incoming(_ peer: ProviderPeer, _ id: String, _ done: Int) async throws {
        let data = #""data":{"chainId":"1","address":"0x5aFE3855358E112B5647B952709E6165e1c1eEEe","value":"1"}"#
        try await peer.publish("INCOMING_ETHER", #"{"id":"\#(id)",\#(data)}"#)
        try await peer.pipeline.wait(for: done, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
    }

    @Test("a user follows, mutes and leaves a Safe, and each change affects the next push immediately")
    func perSafe() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            try await peer.withInbox { inbox in
                try await inbox.register("sara", "android", token: "sara-phone", more: #","permission":"granted""#)
                try await inbox.call("PUT", "/api/follows/\(Self.topic)", as: "sara")
                try await Self.incoming(peer, "in", 1)
                try await peer.waitUntilSettled(1)
                try await inbox.call("PUT", "/api/follows/\(Self.topic)", #"{"muted":true}"#, as: "sara")
                let follows = try await inbox.call("GET", "/api/follows", as: "sara")
                let expected: JSONValue = [
                    "data": [["topic": .string(Self.topic), "muted": true, "role": .null]]
                ]
                #expect(follows == expected)
                try await Self.incoming(peer, "muted", 2)
                try await peer.waitUntilSettled(2)
                try await inbox.call("DELETE", "/api/follows/\(Self.topic)", as: "sara", expecting: 204)
                try await Self.incoming(peer, "left", 3)
                #expect(
                    try await peer.fates() == [
                        "in|sara|android|delivered", "muted|sara|-|suppressed|topic-muted",
                    ]
                )
                #expect(try await inbox.unread("sara") == 2)
            }
        }
    }

    @Test("an owner who unfollows a Safe and follows it again still gets the requests for confirmation")
    func ownerToggles() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            try await peer.withInbox { inbox in
                let role = #"{"userId":"olga","topic":"\#(Self.topic)","role":"owner"}"#
                try await peer.publish("follow.added", role)
                try await eventually("the owner is known") {
                    try await inbox.call("GET", "/api/follows", as: "olga")["data"]?.array?.first?["role"] == "owner"
                }
                try await inbox.call("DELETE", "/api/follows/\(Self.topic)", as: "olga", expecting: 204)
                let back = try await inbox.call("PUT", "/api/follows/\(Self.topic)", as: "olga")
                #expect(back["role"] == "owner")
                let data = #""data":{"chainId":"1","address":"0x5aFE3855358E112B5647B952709E6165e1c1eEEe"}"#
                try await peer.publish("CONFIRMATION_REQUEST", #"{"id":"request",\#(data)}"#)
                try await eventually("the request is in the owner's list") { try await inbox.unread("olga") == 1 }
            }
        }
    }

    @Test("what came while a Safe was muted is in the list, and the badge counts only what was shown")
    func badgeAfterMuting() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            try await peer.withInbox { inbox in
                try await inbox.register("sara", "ios", token: "sara-ios", more: #","permission":"granted""#)
                try await inbox.call("PUT", "/api/follows/\(Self.topic)", #"{"muted":true}"#, as: "sara")
                for count in 1...3 { try await Self.incoming(peer, "muted\(count)", count) }
                try await inbox.call("PUT", "/api/follows/\(Self.topic)", #"{"muted":false}"#, as: "sara")
                try await Self.incoming(peer, "shown", 4)
                try await peer.waitUntilSettled(4)
                let pushes = peer.sandbox.received(.fcm).compactMap { $0.body["message"]?["apns"]?["payload"]?["aps"] }
                #expect(pushes.map { $0["badge"] } == [1])
                #expect(try await inbox.unread("sara") == 4)
            }
        }
    }

    @Test("Android gets only data, with text, channel and badge; reading on one phone lowers the badge on the other")
    func drawnByNotifee() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            try await peer.withInbox { inbox in
                try await inbox.register("sara", "android", token: "sara-android")
                try await inbox.register("sara", "ios", token: "sara-ios")
                try await inbox.call("PUT", "/api/follows/\(Self.topic)", as: "sara")
                try await Self.incoming(peer, "in", 1)
                try await peer.waitUntilSettled(2)
                let android = peer.sandbox.received(.fcm).filter { $0.token == "sara-android" }
                let message = try #require(android.first?.body["message"])
                #expect(android.first?.refused == nil)
                #expect(message["notification"] == nil && message["android"]?["notification"] == nil)
                #expect(message["android"]?["priority"] == "HIGH")
                let data = try #require(message["data"])
                #expect(data["title"] == "0.000000000000000001 ETH received")
                #expect(data["channelId"] == "transactions" && data["visibility"] == "public")
                #expect(data["importance"] == "high" && data["badge"] == "1")
                let apple = peer.sandbox.received(.fcm).first { $0.token == "sara-ios" }?.body["message"]
                #expect(apple?["notification"]?["title"] == data["title"])
                try await inbox.call("PATCH", "/api/notifications", #"{"all":true}"#, as: "sara")
                try await eventually("both are told") { peer.sandbox.received(.fcm).count >= 4 }
                let last = peer.sandbox.received(.fcm).filter { $0.token == "sara-android" }.last
                #expect(last?.refused == nil)
                #expect(last?.body["message"]?["data"] == ["badge": "0"])
            }
        }
    }
}
