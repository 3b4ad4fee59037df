import BellhopRules
import HTTPTransfer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Push

@Suite("APNs' sender", .limitedConcurrency, .timeLimit(.ofTest))
struct APNsSenderTests {
    private let time = ManualTime(Instant(microseconds: SamplePushes.now.microseconds))

    private func tokens() throws -> ProviderTokens {
        try ProviderTokens(TestKey.apple(), time: time, logger: Logger(label: "push", sink: CapturedLog()))
    }

    private func sender(
        _ tokens: ProviderTokens? = nil,
        production: ScriptedTransport,
        sandbox: ScriptedTransport = ScriptedTransport { apns($0) },
        registry: MetricsRegistry? = nil
    ) throws -> APNsSender {
        let app = try #require(AppID(validating: "drop"))
        return APNsSender(
            topic: "com.example.drop",
            tokens: try tokens ?? self.tokens(),
            production: .init(endpoint: "https://apns.example", transport: production),
            sandbox: .init(endpoint: "https://sandbox.apns.example:2197", transport: sandbox),
            metrics: registry.map { PushMetrics($0).forSender(.apns, app: app) }
        )
    }

    private func batch(_ tokens: [String]) throws -> [PushMessage] {
        try tokens.map { try SamplePushes.apple(token: $0) }
    }

    private static func reason(_ status: Int, _ reason: String) -> TransferOutcome {
        .answer(status, #"{"reason":"\#(reason)"}"#)
    }

    /// Returns an answer that depends on the device's token.
    private static func apns(_ request: TransferRequest) -> TransferOutcome {
        let token = request.url.split(separator: "/").last ?? ""
        switch token {
        case "dead": return reason(410, "Unregistered")
        case "bad0": return reason(400, "BadDeviceToken")
        case "f0f0": return reason(400, "DeviceTokenNotForTopic")
        case "0bad": return .unknown(TransferError(.connectionLost, "x"))
        default: return .answer(200, lines: "apns-id: id-\(token)\n")
        }
    }

    private func delivered(_ token: String) -> Verdict { .delivered(providerMessageID: "id-\(token)") }

    @Test("verdicts are in the order of the batch, and each message is sent in its device's environment")
    func order() async throws {
        let production = ScriptedTransport { Self.apns($0) }
        let sandbox = ScriptedTransport { Self.apns($0) }
        var messages = try batch(["a1", "dead", "c3", "xy", "0bad", "d4"])
        messages[2].device.environment = .sandbox
        messages[5].device.environment = .sandbox
        messages.append(try SamplePushes.plain(.ios))
        let verdicts = try await sender(production: production, sandbox: sandbox).send(messages)
        #expect(
            verdicts == [
                delivered("a1"), .deviceGone(.unregistered, at: nil), delivered("c3"),
                .deviceGone(.invalidToken, at: nil), .unknown(.connectionLost, notBefore: .seconds(10)),
                delivered("d4"), .payloadError(.wrongProvider),
            ]
        )
        #expect(
            production.requests.map(\.url)
                == ["a1", "dead", "0bad"].map { "https://apns.example/3/device/\($0)" }
        )
        #expect(
            sandbox.requests.map(\.url)
                == ["c3", "d4"].map { "https://sandbox.apns.example:2197/3/device/\($0)" }
        )
    }

    @Test("a request carries the token, the topic and the payload; all of a batch share one token")
    func request() async throws {
        let production = ScriptedTransport { Self.apns($0) }
        let tokens = try tokens()
        _ = try await sender(tokens, production: production).send(batch(["a1", "b2"]))
        let authorization = try tokens.token().get().authorization
        #expect(production.requests.map { $0.header("authorization") } == [authorization, authorization])
        let request = try #require(production.requests.first)
        #expect(request.method == .post)
        #expect(request.header("apns-topic") == "com.example.drop")
        #expect(try request.body == APNsPush.made(of: SamplePushes.apple(token: "a1")).body)
    }

    @Test("an empty batch, and one without a valid message, send no request")
    func nothing() async throws {
        let production = ScriptedTransport { Self.apns($0) }
        let sender = try sender(production: production)
        #expect(await sender.send([]).isEmpty)
        #expect(try await sender.send(batch(["xy"])) == [.deviceGone(.invalidToken, at: nil)])
        #expect(production.requests.isEmpty)
    }

    @Test("an expired token is replaced if it is old enough, and only the affected messages are sent again")
    func expired() async throws {
        let tokens = try tokens()
        let stale = try tokens.token().get().authorization
        time.advance(by: .seconds(1_200))
        let production = ScriptedTransport { request in
            let isStale = request.header("authorization") == stale && !request.url.hasSuffix("a1")
            return isStale ? Self.reason(403, "ExpiredProviderToken") : Self.apns(request)
        }
        let verdicts = try await sender(tokens, production: production).send(batch(["a1", "b2", "dead"]))
        #expect(verdicts == [delivered("a1"), delivered("b2"), .deviceGone(.unregistered, at: nil)])
        #expect(production.requests.map { $0.url.suffix(4) } == ["e/a1", "e/b2", "dead", "e/b2", "dead"])
    }

    @Test("a young token that APNs reports as expired is a config error: a clock is wrong")
    func skewed() async throws {
        let production = ScriptedTransport { _ in Self.reason(403, "ExpiredProviderToken") }
        let expected = Verdict.configError(.expiredProviderToken, scope: .provider)
        #expect(try await sender(production: production).send(batch(["a1", "b2"])) == [expected, expected])
        #expect(production.requests.count == 2)
    }

    @Test("a fresh token that is rejected as well is a config error, and there is no third attempt")
    func useless() async throws {
        let tokens = try tokens()
        _ = tokens.token()
        time.advance(by: .seconds(1_200))
        let production = ScriptedTransport { _ in Self.reason(403, "ExpiredProviderToken") }
        let expected = Verdict.configError(.expiredProviderToken, scope: .provider)
        #expect(try await sender(tokens, production: production).send(batch(["a1"])) == [expected])
        #expect(production.requests.count == 2)
    }

    @Test("too many token updates pause all sends with the key for 20 minutes")
    func tooManyUpdates() async throws {
        let production = ScriptedTransport { request in
            request.url.hasSuffix("a1") ? Self.reason(429, "TooManyProviderTokenUpdates") : Self.apns(request)
        }
        let sandbox = ScriptedTransport { Self.apns($0) }
        let sender = try sender(production: production, sandbox: sandbox)
        let resting = Verdict.configError(.tooManyProviderTokenUpdates, scope: .provider)
        #expect(try await sender.send(batch(["a1", "b2"])) == [resting, delivered("b2")])
        time.advance(by: .seconds(1_199))
        var messages = try batch(["b2", "c3"])
        messages[1].device.environment = .sandbox
        #expect(await sender.send(messages) == [resting, resting])
        #expect(production.requests.count == 2)
        #expect(sandbox.requests.isEmpty)
        time.advance(by: .seconds(1))
        #expect(await sender.send(messages) == [delivered("b2"), delivered("c3")])
    }

    @Test("an unrelated key gets a new connection and one repeat, and then it is a config error")
    func unrelatedKey() async throws {
        let count = Mutex(0)
        let once = ScriptedTransport { request in
            let number = count.withLock {
                $0 += 1; return $0
            }
            return number == 1 ? Self.reason(403, "UnrelatedKeyIdInToken") : Self.apns(request)
        }
        #expect(try await sender(production: once).send(batch(["a1"])) == [delivered("a1")])
        #expect(once.retiredAfter == [1])
        let always = ScriptedTransport { _ in Self.reason(403, "UnrelatedKeyIdInToken") }
        let expected = Verdict.configError(.unrelatedKeyID, scope: .provider)
        #expect(try await sender(production: always).send(batch(["a1", "b2"])) == [expected, expected])
        #expect(always.requests.count == 4)
    }

    @Test(
        "a connection that APNs closes is retired, and the message is retried later",
        arguments: [(503, "Shutdown", Duration.seconds(900)), (400, "IdleTimeout", Duration.seconds(10))]
    )
    func staleConnection(_ status: Int, _ reason: String, _ wait: Duration) async throws {
        let production = ScriptedTransport { request in
            request.url.hasSuffix("a1") ? Self.reason(status, reason) : Self.apns(request)
        }
        let verdicts = try await sender(production: production).send(batch(["a1", "b2"]))
        #expect(verdicts[0].kind == .retry)
        #expect(verdicts[0].notBefore == wait)
        #expect(verdicts[0].reason?.rawValue == reason)
        #expect(verdicts[1] == delivered("b2"))
        #expect(production.requests.count == 2)
        #expect(production.retiredAfter == [2])
    }

    @Test(
        "devices of another environment or app are gone, however many",
        arguments: [("bad0", VerdictReason.badDeviceToken), ("f0f0", VerdictReason.deviceTokenNotForTopic)]
    )
    func foreign(_ token: String, _ reason: VerdictReason) async throws {
        let sender = try sender(production: ScriptedTransport { Self.apns($0) })
        let gone = Verdict.deviceGone(reason, at: nil)
        let verdicts = try await sender.send(batch([String](repeating: token, count: 8) + ["a1"]))
        #expect(verdicts == [Verdict](repeating: gone, count: 8) + [delivered("a1")])
    }

    @Test("a transport that returns too few outcomes leaves no message without a verdict")
    func tooFewOutcomes() async throws {
        struct Silent: HTTPTransport {
            func send(_ requests: [TransferRequest]) async -> [TransferOutcome] { [] }
            func close() async {}
        }
        let service = APNsSender.Service(endpoint: "https://apns.example", transport: Silent())
        let sender = APNsSender(topic: "t", tokens: try tokens(), production: service, sandbox: service)
        #expect(try await sender.send(batch(["a1", "b2"])).map(\.kind) == [.unknown, .unknown])
    }

    @Test("verdicts are counted by provider, app and kind")
    func metrics() async throws {
        let registry = MetricsRegistry()
        let sender = try sender(production: ScriptedTransport { Self.apns($0) }, registry: registry)
        _ = try await sender.send(batch(["a1", "b2", "dead"]))
        let text = registry.text()
        #expect(text.contains(#"bellhop_push_total{provider="apns",app="drop",verdict="delivered"} 2"#))
        #expect(text.contains(#"bellhop_push_total{provider="apns",app="drop",verdict="device-gone"} 1"#))
    }
}
