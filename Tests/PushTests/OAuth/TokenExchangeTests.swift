import BellhopRules
import Cryptography
import HTTPTransfer
import Push
import ServiceRuntime
import TestSupport
import Testing

@Suite("The request for an access token")
struct TokenExchangeTests {
    private static let now = Instant(seconds: 1_771_163_100)

    @Test("the request carries an assertion that Google accepts")
    func assertion() async throws {
        let transport = ScriptedTransport { _ in .token("t") }
        let source = try Accounts.source(transport, time: ManualTime(Self.now))
        _ = try await source.token().get()
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.url == "https://oauth2.example/token")
        #expect(request.header("content-type") == "application/x-www-form-urlencoded")
        let form = String(decoding: request.body, as: UTF8.self)
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        #expect(form.hasPrefix(prefix))
        let key = try PrivateKey(pem: Array(TestKey.pem.utf8)).publicKey()
        let assertion = String(form.dropFirst(prefix.count))
        let token = try #require(JSONWebToken(verifying: assertion, algorithm: .rs256, key: key))
        let header: JSONValue = ["alg": "RS256", "typ": "JWT", "kid": "key-1"]
        #expect(try JSONParser().parse(token.header).get() == header)
        let claims: JSONValue = [
            "iss": "sender@bellhop-test.iam.gserviceaccount.com",
            "scope": "https://www.googleapis.com/auth/firebase.messaging",
            "aud": "https://oauth2.example/token", "iat": 1_771_163_100, "exp": 1_771_166_700,
        ]
        #expect(try JSONParser().parse(token.claims).get() == claims)
    }

    private func verdict(_ outcome: TransferOutcome) async throws -> Verdict? {
        let transport = ScriptedTransport { _ in outcome }
        let source = try Accounts.source(transport, time: ManualTime(Self.now))
        guard case .failure(let refusal) = await source.token() else { return nil }
        return refusal.verdict(shortestWait: .seconds(10))
    }

    @Test("an unavailable or busy endpoint leads to a retry", arguments: [408, 429, 500, 502, 503, 504])
    func busy(_ status: Int) async throws {
        let expected = Verdict.retry(.tokenUnavailable, notBefore: .seconds(10), scope: .provider)
        #expect(try await verdict(.answer(status, "<html>")) == expected)
    }

    @Test(
        "a temporary error leads to a retry, whatever the status",
        arguments: ["internal_failure", "server_error", "temporarily_unavailable"]
    )
    func passing(_ word: String) async throws {
        #expect(try await verdict(.answer(400, #"{"error":"\#(word)"}"#))?.kind == .retry)
    }

    @Test(
        "an endpoint that rejects the account leads to a config error",
        arguments: [
            (400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#),
            (400, #"{"error":"invalid_scope"}"#), (400, #"{"error":"unauthorized_client"}"#),
            (401, #"{"error":"invalid_client"}"#), (403, ""), (404, "<html>"), (302, ""), (400, ""),
            (400, #"{"error":7}"#),
        ]
    )
    func refused(_ status: Int, _ body: String) async throws {
        #expect(try await verdict(.answer(status, body)) == .configError(.tokenRefused, scope: .provider))
    }

    @Test(
        "an answer without a usable token leads to a config error",
        arguments: [
            "", "<html>", "{}", #"{"access_token":""}"#, #"{"access_token":7}"#, #"{"access_token":"a b"}"#,
            #"{"access_token":"a\r\nx: y"}"#,
        ]
    )
    func useless(_ body: String) async throws {
        #expect(try await verdict(.answer(200, body)) == .configError(.tokenRefused, scope: .provider))
    }

    @Test("an endpoint's requested wait is kept, within limits", arguments: [(120, 120), (1, 10), (.max, 21_600)])
    func retryAfter(_ asked: Int, _ expected: Int) async throws {
        let verdict = try await verdict(.answer(503, "", retryAfter: asked))
        #expect(verdict?.notBefore == .seconds(expected))
    }

    @Test("an unreachable endpoint leads to a retry, and an unusable one to a config error")
    func transfer() async throws {
        #expect(try await verdict(.notSent(TransferError(.connect, "x")))?.kind == .retry)
        #expect(try await verdict(.unknown(TransferError(.timeout, "x")))?.kind == .retry)
        #expect(try await verdict(.notSent(TransferError(.certificate, "x")))?.kind == .configError)
        #expect(try await verdict(.notSent(TransferError(.addressRefused, "x")))?.kind == .configError)
    }

    @Test("the log contains the answer and the correction, and no secret")
    func log() async throws {
        let log = CapturedLog()
        let body = #"{"error":"invalid_grant","error_description":"secret-words"}"#
        let source = try Accounts.source(
            ScriptedTransport { _ in .answer(400, body) },
            time: ManualTime(Self.now),
            log: log
        )
        _ = await source.token()
        let line = try #require(log.lines().first)
        #expect(line.contains("400 invalid_grant"))
        #expect(line.contains("clock"))
        #expect(!line.contains("secret-words"))
        #expect(log.records.map(\.level) == [.error])
    }
}
