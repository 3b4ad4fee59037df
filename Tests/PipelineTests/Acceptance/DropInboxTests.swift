import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

/// The calls of the payments app's clients to the inbox API, and the results.
extension DropAcceptanceTests {
    @Test("a phone is registered without a provider, a tap marks as read, and the badge falls on the iPhone")
    func tapping() async throws {
        try await ProviderPeer.run(app: "drop", over: .expo) { peer in
            try await peer.withInbox { inbox in
                let phone = peer.token("jasmin-ios")
                let tablet = peer.token("jasmin-android")
                try await inbox.register("jasmin", "ios", token: phone)
                try await inbox.register("jasmin", "android", token: tablet)
                for number in 1...2 {
                    let data = #""data":{"merchant":"Kebab","amount":"\#(number) kr"}"#
                    let body = #"{"id":"qr\#(number)","to":{"user":"jasmin"},"targetId":"tx_\#(number)",\#(data)}"#
                    try await peer.publish("qr_payment", body)
                    try await peer.waitUntilAnswered(2 * number)
                }
                #expect(Self.badges(peer, of: phone) == [1, 2])
                let pushed = try #require(peer.sandbox.received(.expo).first { $0.token == tablet })
                #expect(pushed.body["channelId"] == "transactions")
                #expect(pushed.body["data"]?["route"] == "/(tabs)/history?id=tx_1")
                // The tap: the app identifies the notification by the push's data.
                let id = try #require(pushed.body["data"]?["notificationId"]?.string)
                let marked = try await inbox.call(
                    "PATCH",
                    "/api/notifications",
                    #"{"notificationIds":["\#(id)"]}"#,
                    as: "jasmin"
                )
                #expect(marked == ["updated": 1])
                #expect(try await inbox.unread("jasmin") == 1)
                try await eventually("the phone hears the lower number") {
                    Self.badges(peer, of: phone) == [1, 2, 1]
                }
                // Android's launcher counts the shown notifications without Bellhop.
                #expect(Self.badges(peer, of: tablet) == [nil, nil])
            }
        }
    }

    /// The badges that were sent to a device; an Android app reads them from the data.
    private static func badges(_ peer: ProviderPeer, of token: String) -> [JSONValue?] {
        peer.sandbox.received(.expo).filter { $0.token == token }.map {
            token.contains("android") ? $0.body["data"]?["badge"] : $0.body["badge"]
        }
    }

    @Test("security cannot be muted, and a campaign's page opens in the browser and the home screen on a phone")
    func lockedAndLinked() async throws {
        try await ProviderPeer.run(app: "drop", over: .expo) { peer in
            try await peer.withInbox { inbox in
                let phone = peer.token("jasmin-ios")
                try await inbox.register("jasmin", "ios", token: phone)
                let off = #"{"enabled":false,"eventToggles":{"security":false,"promotional":true}}"#
                let stored = try await inbox.call("PUT", "/api/preferences", off, as: "jasmin")
                #expect(stored["eventToggles"]?["security"] == nil && stored["enabled"] == false)
                let device = #""data":{"device":"iPhone","place":"Oslo, Norge"}"#
                try await peer.publish("security", #"{"id":"login","to":{"user":"jasmin"},\#(device)}"#)
                try await peer.waitUntilAnswered(1)
                let offer = #""data":{"offer":"0% gebyr denne uken!"},"route":{"web":"/kampanje/juni"}"#
                try await peer.publish("promotional", #"{"id":"offer","to":{"user":"jasmin"},\#(offer)}"#)
                try await peer.waitUntilAnswered(2)
                #expect(
                    try await peer.fates() == [
                        "login|jasmin|ios|delivered", "offer|jasmin|-|suppressed|muted",
                    ]
                )
                let page = try await inbox.call("GET", "/api/notifications", as: "jasmin")
                let links = page["data"]?.array?.compactMap { $0["link"] }
                #expect(links?.first == ["web": "/kampanje/juni", "mobile": "/"])
                let types = try await inbox.call("GET", "/api/catalog", as: "jasmin")["types"]?.array ?? []
                let locked = types.filter { $0["mandatory"] == true }.compactMap { $0["type"]?.string }
                #expect(locked == ["security"])
            }
        }
    }

    @Test("the notification centre reads settings, the list with its looks and pinned items, and logs out")
    func centre() async throws {
        try await ProviderPeer.run(app: "drop", over: .expo) { peer in
            try await peer.withInbox { inbox in
                let phone = peer.token("ola-ios")
                try await inbox.register("ola", "ios", token: phone)
                let switches = #"{"pushEnabled":false,"emailEnabled":true,"email":"ola@example.com"}"#
                let settings = try await inbox.call("PATCH", "/api/settings", switches, as: "ola")
                #expect(settings["pushEnabled"] == false && settings["emailEnabled"] == true)
                let device = #""data":{"device":"iPhone","place":"Oslo, Norge"}"#
                try await peer.publish("security", #"{"id":"login","to":{"user":"ola"},\#(device)}"#)
                try await peer.waitUntilSettled(2)
                let payment = #""data":{"merchant":"Kebab","amount":"9 kr"}"#
                try await peer.publish("qr_payment", #"{"id":"qr","to":{"user":"ola"},\#(payment)}"#)
                try await peer.waitUntilSettled(3)
                // Tokens are kept and not used; urgent events are mailed.
                #expect(peer.sandbox.received(.expo).isEmpty)
                #expect(peer.sandbox.received(.email).map(\.token) == ["ola@example.com"])
                let page = try await inbox.call("GET", "/api/notifications", as: "ola")
                #expect(page["unreadCount"] == 2)
                let pinned = try #require(page["pinned"]?.array?.first)
                #expect(pinned["title"] == "Ny pålogging fra iPhone" && pinned["priority"] == "high")
                #expect(pinned["icon"] == "Smartphone" && pinned["color"] == "#3B82F6")
                #expect(pinned["background"] == "#EFF6FF" && pinned["link"]?["web"] == "/profile/security")
                #expect(try await inbox.titles("ola") == ["QR-betaling hos Kebab", "Ny pålogging fra iPhone"])
                try await inbox.call("PATCH", "/api/settings", #"{"pushEnabled":true}"#, as: "ola")
                try await inbox.call("DELETE", "/api/push-token", #"{"token":"\#(phone)"}"#, as: "ola", expecting: 204)
                try await peer.publish("qr_payment", #"{"id":"late","to":{"user":"ola"},\#(payment)}"#)
                try await peer.waitUntilSettled(4)
                #expect(peer.sandbox.received(.expo).isEmpty)
                #expect(try await inbox.unread("ola") == 3)
            }
        }
    }
}
