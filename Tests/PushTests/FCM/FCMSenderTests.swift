import BellhopRules
import HTTPTransfer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Push

@Suite("FCM's sender", .limitedConcurrency, .timeLimit(.ofTest))
struct FCMSenderTests {
    private let time = ManualTime(Instant(microseconds: SamplePushes.now.microseconds))

    /// Returns a sender with numbered tokens; the first is `token-1`.
    private func sender(
        tokens: ScriptedTransport? = nil,
        registry: MetricsRegistry? = nil,
        _ fcm: ScriptedTransport
    ) throws -> FCMSender {
        let count = Mutex(0)
        let endpoint = tokens ?? ScriptedTransport { _ in .token("token-\(count.withLock { $0 += 1; return $0 })") }
        let app = try #require(AppID(validating: "drop"))
        return FCMSender(
            endpoint: "https://fcm.example",
            projectID: "bellhop-test",
            tokens: try Accounts.source(endpoint, time: time),
            transport: fcm,
            time: time,
            metrics: registry.map { PushMetrics($0).forSender(.fcm, app: app) }
        )
    }

    private func batch(_ tokens: [String]) throws -> [PushMessage] {
        try tokens.map { try SamplePushes.plain(token: $0) }
    }

    /// Returns an answer that depends on the device's token.
    private static func fcm(_ request: TransferRequest) -> TransferOutcome {
        switch request.deviceToken {
        case "gone": .answer(404, AnswerRow.error("NOT_FOUND", details: AnswerRow.fcm("UNREGISTERED")))
        case "busy": .answer(503, "", retryAfter: 30)
        case "foreign": .answer(403, AnswerRow.error("PERMISSION_DENIED", details: AnswerRow.fcm("SENDER_ID_MISMATCH")))
        case "lost": .unknown(TransferError(.connectionLost, "x"))
        case "unsent": .notSent(TransferError(.connect, "x"))
        case let token?: .answer(200, #"{"name":"projects/bellhop-test/messages/\#(token)"}"#)
        case nil: .answer(400)
        }
    }

    private func delivered(_ token: String) -> Verdict {
        .delivered(providerMessageID: "projects/bellhop-test/messages/\(token)")
    }

    @Test("verdicts are in the order of the batch, one for each message")
    func order() async throws {
        let transport = ScriptedTransport { Self.fcm($0) }
        let sender = try sender(transport)
        var messages = try batch(["a", "gone", "busy", "b", "lost", "unsent", "foreign"])
        messages[3].link = .init(web: String(repeating: "w", count: 4096), mobile: "/")
        messages.append(try SamplePushes.plain(token: "apple"))
        messages[7].device.provider = .apns
        let wait = Duration.seconds(10)
        #expect(
            await sender.send(messages) == [
                delivered("a"), .deviceGone(.unregistered, at: nil),
                .retry(.unavailable, notBefore: .seconds(30), scope: .message), .payloadError(.payloadTooLarge),
                .unknown(.connectionLost, notBefore: wait), .retry(.connect, notBefore: wait, scope: .provider),
                .deviceGone(.senderIDMismatch, at: nil), .payloadError(.wrongProvider),
            ]
        )
        #expect(transport.requests.map(\.deviceToken) == ["a", "gone", "busy", "lost", "unsent", "foreign"])
    }

    @Test("a request contains the project, the access token and the content type")
    func request() async throws {
        let transport = ScriptedTransport { Self.fcm($0) }
        _ = try await sender(transport).send(batch(["a"]))
        let request = try #require(transport.requests.first)
        #expect(request.url == "https://fcm.example/v1/projects/bellhop-test/messages:send")
        #expect(request.method == .post)
        #expect(request.header("authorization") == "Bearer token-1")
        #expect(request.header("content-type") == "application/json")
        #expect(request.timeouts.total >= .seconds(10))
    }

    @Test("a badge update that cannot be built gets an error verdict, and sends no request")
    func badgeUpdates() async throws {
        let transport = ScriptedTransport { Self.fcm($0) }
        var messages = try batch(["a", "b", "c"])
        for index in messages.indices { messages[index].purpose = .badgeUpdate }
        messages[0].badge = 3
        messages[1].badge = 3
        messages[1].device.platform = .web
        let verdicts = try await sender(transport).send(messages)
        #expect(
            verdicts == [delivered("a"), .payloadError(.unsupportedPurpose), .payloadError(.invalidRequest)]
        )
        #expect(transport.requests.map(\.deviceToken) == ["a"])
    }

    @Test("an empty batch sends no request")
    func empty() async throws {
        let tokens = ScriptedTransport { _ in .answer(500) }
        let transport = ScriptedTransport { Self.fcm($0) }
        #expect(try await sender(tokens: tokens, transport).send([]).isEmpty)
        #expect(tokens.requests.isEmpty && transport.requests.isEmpty)
    }

    @Test("a token that is not accepted is replaced, and only the affected messages are sent again, once")
    func staleToken() async throws {
        let transport = ScriptedTransport { request in
            let isStale = request.header("authorization") == "Bearer token-1" && request.deviceToken != "a"
            return isStale ? .answer(401, AnswerRow.error("UNAUTHENTICATED")) : Self.fcm(request)
        }
        let sender = try sender(transport)
        let verdicts = try await sender.send(batch(["a", "b", "gone"]))
        #expect(verdicts == [delivered("a"), delivered("b"), .deviceGone(.unregistered, at: nil)])
        #expect(transport.requests.map(\.deviceToken) == ["a", "b", "gone", "b", "gone"])
        #expect(transport.requests.last?.header("authorization") == "Bearer token-2")
    }

    @Test("a fresh token that is not accepted either is a config error, and there is no third attempt")
    func uselessToken() async throws {
        let transport = ScriptedTransport { _ in .answer(401) }
        let sender = try sender(transport)
        let expected = Verdict.configError(.unauthenticated, scope: .provider)
        #expect(try await sender.send(batch(["a", "b"])) == [expected, expected])
        #expect(transport.requests.count == 4)
        #expect(try await sender.send(batch(["a", "b"])) == [expected, expected])
        #expect(transport.requests.count == 6)
    }

    @Test("concurrent batches with a stale token fetch one fresh token together")
    func sharedReplacement() async throws {
        let count = Mutex(0)
        let tokens = ScriptedTransport { _ in .token("token-\(count.withLock { $0 += 1; return $0 })") }
        let transport = ScriptedTransport { request in
            request.header("authorization") == "Bearer token-1" ? .answer(401) : Self.fcm(request)
        }
        let sender = try sender(tokens: tokens, transport)
        let batch = try batch(["a"])
        let kinds = await withTaskGroup(of: [Verdict].self) { group in
            for _ in 0..<100 { group.addTask { await sender.send(batch) } }
            return await group.reduce(into: []) { $0 += $1.map(\.kind) }
        }
        #expect(kinds == Array(repeating: .delivered, count: 100))
        #expect(tokens.requests.count == 2)
    }

    @Test("no message is sent without a token, and all messages have the same verdict")
    func noToken() async throws {
        let transport = ScriptedTransport { Self.fcm($0) }
        let down = ScriptedTransport { _ in .notSent(TransferError(.connect, "x")) }
        let retry = Verdict.retry(.tokenUnavailable, notBefore: .seconds(10), scope: .provider)
        #expect(try await sender(tokens: down, transport).send(batch(["a", "b"])) == [retry, retry])
        let refusing = ScriptedTransport { _ in .answer(401, #"{"error":"invalid_client"}"#) }
        let config = Verdict.configError(.tokenRefused, scope: .provider)
        #expect(try await sender(tokens: refusing, transport).send(batch(["a", "b"])) == [config, config])
        #expect(transport.requests.isEmpty)
    }

    @Test("a transport that returns too few outcomes leaves no message without a verdict")
    func tooFewOutcomes() async throws {
        struct Silent: HTTPTransport {
            func send(_ requests: [TransferRequest]) async -> [TransferOutcome] { [] }
            func close() async {}
        }
        let sender = FCMSender(
            endpoint: "https://fcm.example",
            projectID: "p",
            tokens: try Accounts.source(ScriptedTransport { _ in .token("t") }, time: time),
            transport: Silent()
        )
        #expect(try await sender.send(batch(["a"])).map(\.kind) == [.unknown])
    }

    @Test("tokens of another project are gone, however many: only the judgement by users detects a wrong project")
    func foreignProject() async throws {
        let sender = try sender(ScriptedTransport { Self.fcm($0) })
        let gone = Verdict.deviceGone(.senderIDMismatch, at: nil)
        let verdicts = try await sender.send(batch([String](repeating: "foreign", count: 8) + ["a"]))
        #expect(verdicts.prefix(8) == ArraySlice([Verdict](repeating: gone, count: 8)))
        #expect(verdicts[8].kind == .delivered)
    }

    @Test("verdicts are counted by provider, app and kind, and a batch's duration is measured")
    func metrics() async throws {
        let registry = MetricsRegistry()
        let sender = try sender(registry: registry, ScriptedTransport { Self.fcm($0) })
        _ = try await sender.send(batch(["a", "b", "gone"]))
        _ = try await sender.send(batch(["c"]))
        let text = registry.text()
        #expect(text.contains(#"bellhop_push_total{provider="fcm",app="drop",verdict="delivered"} 3"#))
        #expect(text.contains(#"bellhop_push_total{provider="fcm",app="drop",verdict="device-gone"} 1"#))
        #expect(text.contains(#"bellhop_push_seconds_count{provider="fcm",app="drop"} 2"#))
    }
}
