import BellhopRules
import Testing

@Suite("Keys of browsers")
struct WebPushKeysTests {
    @Test("a subscription gives its point, its secret and the name of its key, padded or not")
    func good() throws {
        let keys = try #require(WebPushKeys(subscription: WebPush.subscription()))
        #expect(keys.publicKey.count == 65 && keys.publicKey[0] == 4 && keys.publicKey[64] == 0x0E)
        #expect(keys.secret.count == 16 && keys.secret[0] == 5)
        #expect(keys.vapidKeyID == nil)
        let named = try #require(WebPushKeys(subscription: WebPush.subscription(beside: ["vapidKeyID": "2026.a_b-c"])))
        #expect(named.vapidKeyID == "2026.a_b-c")
        let padded = WebPush.subscription { keys in
            for key in ["p256dh", "auth"] {
                let text = keys[key]?.string ?? ""
                keys[key] = .string(text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
            }
        }
        #expect(WebPushKeys(subscription: padded) == keys)
    }

    static let bad: [(JSONObject, String)] = [
        ([:], "/subscription/keys"), (["keys": .null], "/subscription/keys"), (["keys": []], "/subscription/keys"),
        (["keys": [:]], "/subscription/keys/p256dh"),
        (WebPush.subscription { $0["p256dh"] = nil }, "/subscription/keys/p256dh"),
        (WebPush.subscription { $0["p256dh"] = 4 }, "/subscription/keys/p256dh"),
        (WebPush.subscription { $0["p256dh"] = "BCVx" }, "/subscription/keys/p256dh"),
        (
            WebPush.subscription { keys in
                keys["p256dh"] = .string("C" + (keys["p256dh"]?.string ?? "").dropFirst())
            }, "/subscription/keys/p256dh"
        ),
        (WebPush.subscription { $0["auth"] = nil }, "/subscription/keys/auth"),
        (WebPush.subscription { $0["auth"] = "BTBZMqHH6r4Tts7J_aSI" }, "/subscription/keys/auth"),
        (WebPush.subscription { $0["auth"] = "BTBZMqHH6r4Tts7J/aSIgg" }, "/subscription/keys/auth"),
        (WebPush.subscription { $0["auth"] = "BTBZMqHH6r4Tts7J_aSIgg=" }, "/subscription/keys/auth"),
        (WebPush.subscription { $0["auth"] = "BTBZMqHH6r4 Tts7J_aSIgg" }, "/subscription/keys/auth"),
        (
            WebPush.subscription { $0["auth"] = .string(String(repeating: "A", count: 10_000)) },
            "/subscription/keys/auth"
        ),
        (WebPush.subscription(beside: ["vapidKeyID": ""]), "/subscription/vapidKeyID"),
        (WebPush.subscription(beside: ["vapidKeyID": "a b"]), "/subscription/vapidKeyID"),
        (WebPush.subscription(beside: ["vapidKeyID": 7]), "/subscription/vapidKeyID"),
    ]

    @Test("a missing or invalid member is rejected by the feed, and later read as no keys", arguments: bad)
    func wrong(_ subscription: JSONObject, _ pointer: String) throws {
        #expect(WebPushKeys(subscription: subscription) == nil)
        try expectRefusal(WebPush.text(subscription), token: WebPush.endpoint, at: pointer)
    }

    @Test("a browser without a subscription, with another endpoint or with a forbidden endpoint is rejected")
    func otherFaults() throws {
        try expectRefusal("null", token: WebPush.endpoint, at: "/subscription")
        try expectRefusal("[]", token: WebPush.endpoint, at: "/subscription")
        let good = WebPush.text()
        try expectRefusal(good, token: WebPush.endpoint + "x", at: "/subscription/endpoint")
        for token in ["t", "http://push.example/a", "https://127.0.0.1/a", "https://push.example"] {
            try expectRefusal(good, token: token, at: "/token")
        }
    }

    private func expectRefusal(_ subscription: String, token: String, at pointer: String) throws {
        let text = """
            {"userId":"u","token":"\(token)","platform":"web","provider":"webpush","subscription":\(subscription)}
            """
        let source = InboundEnvelope.Source.eventsExchange(routingKey: "drop.subscription.upserted")
        let rejection = try SampleMessages.rejection(SampleMessages.envelope(text, source: source))
        #expect(rejection.reason == .invalidField)
        #expect(rejection.pointer.text == pointer)
        #expect(!rejection.message.contains("BTBZ"))
    }
}
