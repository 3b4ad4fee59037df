import BellhopRules
import IntegrationSupport
import Store
import TestSupport
import Testing

@Suite(
    "Browsers among recipients",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct BrowserSubscriptionTests {
    private static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAA"
    private static let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"

    private func devices(_ servers: ServerFixture) async throws -> [PushProvider: Device] {
        let app = try #require(AppID(validating: "drop"))
        let user = try #require(UserID(validating: "u1"))
        let key = UserKey(app: app, user: user)
        let found = try await WorkerStore(pool: servers.pool).recipients(of: [key])
        let devices = try #require(found[key]).devices
        return Dictionary(devices.map { ($0.provider, $0) }) { first, _ in first }
    }

    @Test("a browser has its keys, a phone has none, and unreadable keys count as none")
    func keys() async throws {
        try await ServerFixture.withSchema { servers in
            let keys = #"{"p256dh":"\#(Self.point)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}"#
            try await servers.feed([
                #"""
                {"app":"drop","eventType":"subscription.upserted","userId":"u1","token":"\#(Self.endpoint)",
                 "platform":"web","provider":"webpush","subscription":{"keys":\#(keys),"vapidKeyID":"2026"}}
                """#,
                #"""
                {"app":"drop","eventType":"subscription.upserted","userId":"u1","token":"t","platform":"android",
                 "provider":"fcm","subscription":{"keys":\#(keys)}}
                """#,
            ])
            let stored = try await devices(servers)
            #expect(stored[.fcm] != nil && stored[.fcm]?.webPushKeys == nil)
            let kept = try await servers.column("SELECT subscription::text FROM push_subscriptions ORDER BY provider")
            #expect(kept.first == .some(nil))
            #expect(kept.last??.contains("vapidKeyID") == true)
            let browser = try #require(stored[.webpush])
            #expect(browser.token.text == Self.endpoint)
            #expect(browser.webPushKeys?.vapidKeyID == "2026")
            #expect(browser.webPushKeys?.publicKey.count == 65 && browser.webPushKeys?.secret.count == 16)
            _ = try await servers.column("UPDATE push_subscriptions SET subscription = '[1]' RETURNING id")
            let spoilt = try await devices(servers)
            #expect(spoilt[.webpush] != nil && spoilt[.webpush]?.webPushKeys == nil)
        }
    }
}
