import HTTPTransfer
import Push
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Access tokens", .limitedConcurrency, .timeLimit(.ofTest))
struct AccessTokenSourceTests {
    private let time = ManualTime(Instant(seconds: 1_771_163_100))

    /// Returns an endpoint with numbered tokens; the first is `token-1`.
    private func counting(lifetime: Int = 3600) -> ScriptedTransport {
        let count = Mutex(0)
        return ScriptedTransport { _ in
            .token("token-\(count.withLock { $0 += 1; return $0 })", lifetime: lifetime)
        }
    }

    private func text(_ source: AccessTokenSource) async throws -> String {
        try await source.token().get().secret.revealed
    }

    /// Waits until the endpoint has received this number of requests.
    private func asked(_ transport: ScriptedTransport, _ count: Int) async throws {
        try await eventually("request \(count)") { transport.requests.count >= count }
    }

    /// Waits until a refresh is complete and the source returns its token.
    private func landed(_ source: AccessTokenSource, _ expected: String) async throws {
        try await eventually("the token \(expected)") { try await text(source) == expected }
    }

    @Test("a hundred concurrent callers share one request for the first token")
    func singleFlight() async throws {
        let gate = AsyncLatch()
        let transport = ScriptedTransport { _ in
            await gate.pass()
            return .token("only")
        }
        let source = try Accounts.source(transport, time: time)
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await self.text(source) } }
            try await asked(transport, 1)
            await gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "only", count: 100))
        #expect(transport.requests.count == 1)
    }

    @Test("a token is used until 85 % of its life, and still returned while the next one is fetched")
    func refresh() async throws {
        let gate = AsyncLatch()
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            let number = count.withLock {
                $0 += 1; return $0
            }
            if number > 1 { await gate.pass() }
            return .token("token-\(number)", lifetime: 1000)
        }
        let source = try Accounts.source(transport, time: time)
        #expect(try await text(source) == "token-1")
        time.advance(by: .seconds(849))
        #expect(try await text(source) == "token-1")
        #expect(transport.requests.count == 1)
        time.advance(by: .seconds(1))
        for _ in 0..<50 { #expect(try await text(source) == "token-1") }
        try await asked(transport, 2)
        #expect(try await text(source) == "token-1")
        await gate.open()
        try await landed(source, "token-2")
        #expect(transport.requests.count == 2)
    }

    @Test("an expired token is never returned")
    func ended() async throws {
        let transport = counting(lifetime: 1000)
        let source = try Accounts.source(transport, time: time)
        #expect(try await text(source) == "token-1")
        time.advance(by: .seconds(990))
        #expect(try await text(source) == "token-2")
    }

    @Test("a missing life is one hour, an invalid one is one second, and a life as text is read")
    func lifetimes() async throws {
        let bodies = [
            (#"{"access_token":"t"}"#, 3059), (#"{"access_token":"t","expires_in":"100"}"#, 84),
            (#"{"access_token":"t","expires_in":1e300}"#, 73_439), (#"{"access_token":"t","expires_in":null}"#, 3059),
        ]
        for (body, fresh) in bodies {
            let transport = ScriptedTransport { _ in .answer(200, body) }
            let source = try Accounts.source(transport, time: time)
            _ = try await text(source)
            time.advance(by: .seconds(fresh))
            _ = try await text(source)
            #expect(transport.requests.count == 1, "\(body)")
            time.advance(by: .seconds(1))
            _ = try await text(source)
            try await asked(transport, 2)
        }
        for life in ["-5", "0", #""nan""#, "-1e300"] {
            let transport = ScriptedTransport { _ in .answer(200, #"{"access_token":"t","expires_in":\#(life)}"#) }
            let source = try Accounts.source(transport, time: time)
            _ = try await text(source)
            time.advance(by: .seconds(1))
            _ = try await text(source)
            #expect(transport.requests.count == 2, "\(life)")
        }
    }

    @Test("an endpoint that is unavailable gets requests at growing intervals, however many callers need a token")
    func noStorm() async throws {
        let transport = ScriptedTransport { _ in .answer(503) }
        let log = CapturedLog()
        let source = try Accounts.source(transport, time: time, log: log)
        var askedAfter: [Int] = []
        for second in 0..<300 {
            let before = transport.requests.count
            for _ in 0..<20 {
                guard case .failure(let refusal) = await source.token() else {
                    Issue.record("there cannot be a token")
                    return
                }
                #expect(refusal.verdict(shortestWait: .seconds(10)).kind == .retry)
                #expect(refusal.wait <= .seconds(60))
            }
            if transport.requests.count > before { askedAfter.append(second) }
            time.advance(by: .seconds(1))
        }
        // Ceilings of 2, 4, 8, 16, 32, 60, 60, 60 … s, each at least halved by jitter at worst.
        #expect((7...14).contains(transport.requests.count))
        #expect(askedAfter.first == 0)
        #expect(log.records.count == transport.requests.count)
        #expect(log.records.allSatisfy { $0.level == .warning })
    }

    @Test("an endpoint that rejects is called once a minute, and a corrected account is found")
    func refusal() async throws {
        let isMended = Mutex(false)
        let transport = ScriptedTransport { _ in
            isMended.withLock { $0 } ? .token("mended") : .answer(400, #"{"error":"invalid_grant"}"#)
        }
        let source = try Accounts.source(transport, time: time)
        for _ in 0..<59 {
            guard case .failure(let refusal) = await source.token() else {
                Issue.record("unexpected token")
                return
            }
            #expect(refusal.verdict(shortestWait: .zero) == .configError(.tokenRefused, scope: .provider))
            time.advance(by: .seconds(1))
        }
        #expect(transport.requests.count == 1)
        isMended.withLock { $0 = true }
        time.advance(by: .seconds(1))
        #expect(try await text(source) == "mended")
    }

    @Test("a valid token is used to its end while the endpoint is unavailable")
    func oldTokenDuringOutage() async throws {
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            count.withLock {
                $0 += 1; return $0
            } == 1 ? .token("old", lifetime: 1000) : .answer(500)
        }
        let source = try Accounts.source(transport, time: time)
        #expect(try await text(source) == "old")
        time.advance(by: .seconds(900))
        #expect(try await text(source) == "old")
        try await asked(transport, 2)
        time.advance(by: .seconds(89))
        #expect(try await text(source) == "old")
        time.advance(by: .seconds(1))
        guard case .failure = await source.token() else {
            Issue.record("the token has ended")
            return
        }
    }

    @Test("a token that is not accepted is replaced once for all its users")
    func replacement() async throws {
        let transport = counting()
        let source = try Accounts.source(transport, time: time)
        let stale = try await source.token().get()
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await source.token(insteadOf: stale).get().secret.revealed } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts == ["token-2"])
        #expect(transport.requests.count == 2)
        #expect(try await text(source) == "token-2")
    }

    @Test("a fresh token that is not accepted either is not replaced again for a minute")
    func uselessToken() async throws {
        let transport = counting()
        let source = try Accounts.source(transport, time: time)
        let first = try await source.token().get()
        let second = try await source.token(insteadOf: first).get()
        for _ in 0..<10 {
            guard case .failure(let refusal) = await source.token(insteadOf: second) else {
                Issue.record("unexpected token")
                return
            }
            #expect(refusal.verdict(shortestWait: .zero) == .configError(.unauthenticated, scope: .provider))
        }
        #expect(transport.requests.count == 2)
        time.advance(by: .seconds(60))
        #expect(try await source.token(insteadOf: second).get().secret.revealed == "token-3")
    }

    @Test("a refresh continues when its first caller is cancelled")
    func cancellation() async throws {
        let gate = AsyncLatch()
        let transport = ScriptedTransport { _ in
            await gate.pass()
            return .token("kept")
        }
        let source = try Accounts.source(transport, time: time)
        let first = Task { try await text(source) }
        try await asked(transport, 1)
        first.cancel()
        await gate.open()
        #expect(try await text(source) == "kept")
        #expect(transport.requests.count == 1)
    }

    @Test("a token and its refusal never show the secret")
    func redaction() async throws {
        let source = try Accounts.source(counting(), time: time)
        let token = try await source.token().get()
        #expect(!"\(token)".contains("token-1"))
        #expect(!String(reflecting: token).contains("token-1"))
    }
}
