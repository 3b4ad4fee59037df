import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Push

@Suite("The sender to browsers")
struct WebPushSenderTests {
    private let time = ManualTime(Instant(seconds: 1_800_000_000))

    private func sender(_ transport: ScriptedTransport, keys: [VAPIDKey]? = nil) throws -> WebPushSender {
        let keys = try keys ?? [VAPIDKey(id: "main", key: PrivateKey.generateP256())]
        return WebPushSender(
            builder: WebPushRequestBuilder(
                hosts: .known,
                keys: VAPIDKeys(keys, usual: try #require(keys.first)),
                tokens: VAPIDTokens(subject: "mailto:ops@example.com")
            ),
            transport: transport,
            time: time
        )
    }

    @Test("a batch is sent together and gets its verdicts in its own order")
    func batch() async throws {
        let transport = ScriptedTransport { request in .answer(request.url.hasSuffix("/3") ? 410 : 201) }
        let sender = try sender(transport)
        let batch = try (0..<5).map { index in
            try Browsers.message("https://fcm.googleapis.com/fcm/send/\(index)", notification: UInt64(index))
        }
        let verdicts = await sender.send(batch)
        #expect(verdicts.map(\.kind) == [.delivered, .delivered, .delivered, .deviceGone, .delivered])
        #expect(transport.requests.map(\.url) == batch.map(\.device.token.text))
        #expect(Set(transport.requests.compactMap { $0.header("authorization") }).count == 1)
        #expect(transport.requests.allSatisfy { $0.body.count == 512 + 103 })
        #expect(await sender.send([]).isEmpty)
    }

    @Test("bodies have one of five lengths, and Mozilla's never exceed the limit of its bridge")
    func sizes() async throws {
        let transport = ScriptedTransport { _ in .answer(201) }
        let sender = try sender(transport)
        for host in ["fcm.googleapis.com", "updates.push.services.mozilla.com"] {
            for length in stride(from: 1, through: 5000, by: 97) {
                var message = try Browsers.message("https://\(host)/a")
                message.body = String(repeating: "x", count: length)
                #expect(await sender.send([message]).map(\.kind) == [.delivered])
            }
        }
        let (mozilla, others) = (
            transport.requests.filter { $0.url.contains("mozilla") },
            transport.requests.filter { !$0.url.contains("mozilla") }
        )
        #expect(Set(others.map(\.body.count)) == Set(WebPushPadding.lengths.map { $0 + 103 }))
        #expect(Set(mozilla.map(\.body.count)) == Set(WebPushPadding.lengths.dropLast().map { $0 + 103 }))
        #expect(mozilla.allSatisfy { $0.body.count <= 2744 })
    }

    @Test("a message that cannot go to a browser is rejected before a send, with its own reason")
    func refusals() async throws {
        let transport = ScriptedTransport { _ in .answer(201) }
        let sender = try sender(transport)
        var foreign = try Browsers.message()
        foreign.device.provider = .fcm
        var silent = try Browsers.message()
        silent.purpose = .badgeUpdate
        var keyless = try Browsers.message()
        keyless.device.webPushKeys = nil
        var offCurve = try Browsers.message()
        var point = try #require(Base64URL.decode(Browsers.point))
        point[40] ^= 1
        offCurve.device.webPushKeys = try Browsers.keys(point: Base64URL.encode(point))
        var large = try Browsers.message()
        large.targetID = String(repeating: "x", count: 5000)
        let strange = try Browsers.message("https://evil.example/a")
        let unknownKey = try Browsers.message(keyID: "1999")
        let batch = [foreign, silent, keyless, offCurve, large, strange, unknownKey]
        #expect(
            await sender.send(batch) == [
                .payloadError(.wrongProvider), .payloadError(.unsupportedPurpose),
                .deviceGone(.subscriptionUnusable, at: nil), .deviceGone(.subscriptionUnusable, at: nil),
                .payloadError(.payloadTooLarge), .deviceGone(.endpointRefused, at: nil),
                .configError(.unknownVAPIDKey, scope: .message),
            ]
        )
        #expect(transport.requests.isEmpty)
    }

    @Test("a message is signed with its subscription's key, or with the default if it names none")
    func rotation() async throws {
        let transport = ScriptedTransport { _ in .answer(201) }
        let old = try VAPIDKey(id: "2025", key: PrivateKey.generateP256())
        let new = try VAPIDKey(id: "2026", key: PrivateKey.generateP256())
        let sender = try sender(transport, keys: [old, new])
        _ = await sender.send([
            try Browsers.message(keyID: "2026"), try Browsers.message(keyID: "2025"), try Browsers.message(),
        ])
        let used = transport.requests.compactMap { $0.header("authorization")?.split(separator: "k=").last }
        #expect(used.map(String.init) == [new.publicKey, old.publicKey, old.publicKey])
    }

    @Test("an authorization less than an hour old is not made again, and its rejection is a config error of the device")
    func refusedSignIn() async throws {
        let transport = ScriptedTransport { _ in .answer(403) }
        let sender = try sender(transport)
        let verdicts = await sender.send([try Browsers.message(), try Browsers.message()])
        #expect(verdicts == Array(repeating: .configError(.vapidRefused, scope: .device), count: 2))
        #expect(transport.requests.count == 2)
    }

    @Test("a rejected authorization is made again after an hour, and the message is sent again")
    func renewal() async throws {
        let seen = Mutex<[String]>([])
        let transport = ScriptedTransport { request in
            let authorization = request.header("authorization") ?? ""
            return seen.withLock { seen in
                seen.append(authorization)
                return .answer(seen.count == 2 ? 403 : 201)
            }
        }
        let sender = try sender(transport)
        #expect(await sender.send([try Browsers.message()]).map(\.kind) == [.delivered])
        time.advance(by: .seconds(3600))
        #expect(await sender.send([try Browsers.message()]).map(\.kind) == [.delivered])
        let all = seen.withLock { $0 }
        #expect(all.count == 3 && all[0] == all[1] && all[1] != all[2])
    }

    @Test("browsers with another key are gone once other browsers have accepted the key, however many they are")
    func mismatches() async throws {
        let transport = ScriptedTransport { request in
            request.url.contains("other") ? .answer(403, WebPushAnswerRow.otherKey) : .answer(201)
        }
        let sender = try sender(transport)
        let batch = try (0..<10).map {
            try Browsers.message("https://fcm.googleapis.com/\($0 < 6 ? "other" : "right")/\($0)")
        }
        let verdicts = await sender.send(batch)
        #expect(verdicts[..<6].allSatisfy { $0 == .deviceGone(.vapidMismatch, at: nil) })
        #expect(verdicts[6...].allSatisfy { $0.kind == .delivered })
    }
}
