import BellhopRules
import Cryptography
import Push
import Sandbox
import TestSupport
import Testing

@Suite("Web Push end to end, over TLS and HTTP/2", .limitedConcurrency, .timeLimit(.ofTest))
struct WebPushSandboxTests {
    @Test("every browser of a batch decrypts its message, with few connections and one authorization")
    func batch() async throws {
        try await BrowserPeer.run { peer in
            let batch = try peer.messages(200)
            let verdicts = await peer.sender.send(batch)
            #expect(verdicts == Array(repeating: .delivered(providerMessageID: nil), count: 200))
            let received = peer.sandbox.received(.webpush)
            #expect(received.compactMap(\.refused) == [])
            for message in batch {
                let mine = received.filter { $0.token == message.device.token.text }
                #expect(mine.count == 1)
                #expect(mine.first?.payload?["id"]?.string == message.notification.text)
                #expect(mine.first?.tag == message.notification.text)
            }
            #expect(Set(received.compactMap { $0.body["vapid"]?["claims"]?["exp"]?.number }).count == 1)
            #expect(Set(received.map(\.connection)).count <= 2)
        }
    }

    @Test("the service worker of padel gets the members that it needs for quiet hours")
    func content() async throws {
        try await BrowserPeer.run { peer in
            var message = try Browsers.full()
            message.device = try peer.message().device
            #expect(await peer.sender.send([message]).map(\.kind) == [.delivered])
            let received = try #require(peer.sandbox.received(.webpush).first)
            #expect(received.payload?["type"]?.string == "transaction_complete")
            #expect(received.payload?["priority"]?.string == "high")
            #expect(received.payload?["url"]?.string == "/transactions?id=tx_rem_1")
            #expect(received.payload?["title"]?.string == "Betaling mottatt")
            #expect(received.body["paddedLength"] == 1_024)
            let headers = Dictionary(received.headers.map { ($0.name, $0.value) }) { first, _ in first }
            #expect(headers["urgency"] == "high" && headers["topic"]?.utf8.count == 32)
            #expect(headers["authorization"] == "vapid [masked]")
        }
    }

    @Test("a browser accepts every message that can be built")
    func randomMessages() async throws {
        var generator = SeededChance.announced("Web Push messages end to end")
        try await BrowserPeer.run { peer in
            var messages: [PushMessage] = []
            for _ in 0..<SeededChance.rounds(200) {
                var message = try RandomMessage.make(using: &generator)
                message.device = try peer.message().device
                messages.append(message)
            }
            let verdicts = await peer.sender.send(messages)
            #expect(verdicts.allSatisfy { $0.kind == .delivered || $0 == .payloadError(.payloadTooLarge) })
            #expect(verdicts.contains { $0.kind == .delivered })
            #expect(peer.sandbox.received(.webpush).compactMap(\.refused) == [])
        }
    }

    @Test("subscriptions from before and after a change of keys are both reached, each with its key")
    func rotation() async throws {
        try await BrowserPeer.run { peer in
            let old = try peer.message(key: "main")
            let new = try peer.message(key: "next")
            var nameless = try peer.message(key: "main")
            nameless.device.webPushKeys = try #require(nameless.device.webPushKeys.map(forgettingKey))
            #expect(
                await peer.sender.send([old, new, nameless]).map(\.kind) == [.delivered, .delivered, .delivered]
            )
            let keys = peer.sandbox.received(.webpush).map { $0.body["vapid"]?["key"]?.string }
            #expect(Set(keys) == Set(peer.publicKeys.values))
        }
    }

    @Test("a browser that subscribed with another key than the default, without naming it, is gone")
    func otherKey() async throws {
        try await BrowserPeer.run { peer in
            var message = try peer.message(key: "next")
            message.device.webPushKeys = try #require(message.device.webPushKeys.map(forgettingKey))
            // Until a browser has accepted a message with the key, the key may be the wrong one.
            #expect(await peer.sender.send([message]) == [.configError(.vapidMismatch, scope: .device)])
            let usual = try peer.message()
            #expect(await peer.sender.send([usual]).map(\.kind) == [.delivered])
            #expect(await peer.sender.send([message]) == [.deviceGone(.vapidMismatch, at: nil)])
        }
    }

    @Test("subscriptions that ended, or that never existed, are gone")
    func gone() async throws {
        try await BrowserPeer.run { peer in
            let ended = try peer.message()
            #expect(peer.sandbox.endWebPushSubscription(endpoint: ended.device.token.text))
            var invented = try peer.message()
            invented.device.token = try #require(DeviceToken(validating: invented.device.token.text + "x"))
            let gone = Verdict.deviceGone(.subscriptionGone, at: nil)
            #expect(await peer.sender.send([ended, invented]) == [gone, gone])
            #expect(peer.sandbox.received(.webpush).map { $0.answer?.status } == [410, 404])
        }
    }

    @Test("the waits that a busy service requests are in the verdicts, and redirects are not followed")
    func faults() async throws {
        try await BrowserPeer.run { peer in
            let batch = try peer.messages(7)
            let answers: [SandboxFault.Answer] = [
                .init(status: 429, retryAfter: "120"), .init(status: 503, retryAfter: "30"), .init(status: 500),
                .init(status: 413), .init(status: 400, reason: "BadWebPushTopic"),
                .init(status: 307),
            ]
            peer.sandbox.setFaults(
                zip(batch, answers).map { SandboxFault(.webpush, .answer($1), match: $0.device.token.text) }
            )
            let verdicts = await peer.sender.send(batch)
            #expect(
                verdicts == [
                    .retry(.tooManyRequests, notBefore: .seconds(120), scope: .device),
                    .retry(.unavailable, notBefore: .seconds(30), scope: .message),
                    .retry(.internalError, notBefore: .seconds(10), scope: .message),
                    .payloadError(.payloadTooLarge), .payloadError(.badRequest), .payloadError(.redirected),
                    .delivered(providerMessageID: nil),
                ]
            )
            #expect(peer.sandbox.summary.total == 7)
        }
    }

    @Test("a lost connection leaves an unknown outcome, and the repeat carries the same topic")
    func dropped() async throws {
        try await BrowserPeer.run { peer in
            let message = try peer.message()
            peer.sandbox.setFaults([SandboxFault(.webpush, .drop).limited(count: 1)])
            #expect(await peer.sender.send([message]).map(\.kind) == [.unknown])
            #expect(await peer.sender.send([message]).map(\.kind) == [.delivered])
            let topics = peer.sandbox.received(.webpush).compactMap { request in
                request.headers.first { $0.name == "topic" }?.value
            }
            #expect(topics.count == 2 && Set(topics).count == 1)
        }
    }

    @Test("an allowed name with this machine's address is rejected for the subscription alone, and nothing is sent")
    func rebinding() async throws {
        // Without the permission that only tests have: `localhost` is an allowed name here with a loopback address.
        try await BrowserPeer.run("") { peer in
            let batch = try peer.messages(3)
            let verdicts = await peer.sender.send(batch)
            #expect(verdicts == Array(repeating: .payloadError(.addressRefused), count: 3))
            #expect(peer.sandbox.summary.total == 0)
            #expect(peer.sandbox.openConnections == 0)
        }
    }

    @Test(
        "any other endpoint is rejected without a look-up of its address",
        arguments: [
            "https://127.0.0.1:PORT/wp/a", "https://[::1]:PORT/wp/a", "https://2130706433:PORT/wp/a",
            "https://localhost/wp/a", "http://localhost:PORT/wp/a", "https://user@localhost:PORT/wp/a",
            "https://localhost.:PORT/wp/a", "https://localhost:PORT\\@evil.example/wp/a",
        ]
    )
    func strangeEndpoints(_ text: String) async throws {
        try await BrowserPeer.run { peer in
            var message = try peer.message()
            let endpoint = text.replacing("PORT", with: "\(peer.sandbox.address.port)")
            message.device.token = try #require(DeviceToken(validating: endpoint))
            #expect(await peer.sender.send([message]) == [.deviceGone(.endpointRefused, at: nil)])
            #expect(peer.sandbox.summary.total == 0)
        }
    }

    private func forgettingKey(_ keys: WebPushKeys) -> WebPushKeys? {
        WebPushKeys(subscription: [
            "keys": [
                "p256dh": .string(Base64URL.encode(keys.publicKey)), "auth": .string(Base64URL.encode(keys.secret)),
            ]
        ])
    }

}
