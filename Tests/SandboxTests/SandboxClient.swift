import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

/// A running sandbox, and a client that sends HTTP/2 requests to it over TLS.
struct SandboxClient {
    let sandbox: ProviderSandbox
    let transport: CurlTransport
    /// The sandbox's clock.
    ///
    /// It starts at the real time and is moved by the test.
    let time: ManualTime

    var projectPath: String { "/v1/projects/bellhop-sandbox/messages:send" }

    /// Returns the complete answer to a request.
    ///
    /// It throws an error if there is none, so that the test fails.
    func answer(_ request: TransferRequest) async throws -> TransferAnswer {
        let outcomes = await transport.send([request])
        guard case .answered(let answer) = try #require(outcomes.first) else {
            throw Unanswered(outcome: "\(outcomes)")
        }
        return answer
    }

    func send(_ body: String, bearer: String?, type: String = "application/json") async throws -> TransferAnswer {
        try await answer(request(body, bearer: bearer, type: type))
    }

    func request(_ body: String, bearer: String?, type: String = "application/json") -> TransferRequest {
        var headers = [(name: "content-type", value: type)]
        if let bearer { headers.append((name: "authorization", value: "Bearer \(bearer)")) }
        return TransferRequest(.post, url: sandbox.fcmEndpoint + projectPath, headers: headers, body: Array(body.utf8))
    }

    /// Makes a request to the token endpoint with this assertion.
    func tokenRequest(_ assertion: String) -> TransferRequest {
        TransferRequest(
            .post,
            url: sandbox.tokenURI,
            headers: [(name: "content-type", value: "application/x-www-form-urlencoded")],
            body: Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)".utf8)
        )
    }

    /// Requests a new access token, as a sender does.
    func accessToken() async throws -> String {
        let answer = try await answer(tokenRequest(try AssertionDraft(self).signed()))
        return try #require(JSONText.parse(answer.body)["access_token"]?.string)
    }

    func control(
        _ method: TransferRequest.Method,
        _ path: String,
        _ body: String = ""
    ) async throws -> TransferAnswer {
        try await answer(
            TransferRequest(method, url: "http://\(sandbox.controlAddress)\(path)", body: Array(body.utf8))
        )
    }

    /// Runs a body with a transport that senders use for pushes, with one connection.
    func withPushTransport(_ body: (HTTP2Transport) async throws -> Void) async throws {
        var options = HTTP2TransportOptions(name: "push-tests")
        options.authoritiesFile = sandbox.caFile
        options.maxConnectionsPerHost = 1
        let transport = try HTTP2Transport(options)
        do { try await body(transport) } catch {
            await transport.close()
            throw error
        }
        await transport.close()
    }

    func setFaults(_ json: String) async throws {
        let answer = try await control(.put, "/faults", json)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    }
}

/// The error of a request that should have been answered.
struct Unanswered: Error {
    let outcome: String
}

/// Runs `body` with a dedicated sandbox, and stops the sandbox afterwards.
func withSandbox(
    _ change: (inout SandboxOptions) -> Void = { _ in },
    _ body: (SandboxClient) async throws -> Void
) async throws {
    let time = ManualTime(Instant(seconds: 1_800_000_000))
    var options = SandboxOptions()
    // Certificates must be valid by the real clock, so the test's clock starts at the real time.
    time.set(to: SystemTime().now())
    options.time = time
    change(&options)
    let sandbox = try await ProviderSandbox.start(options)
    var transportOptions = CurlTransportOptions(name: "sandbox-tests")
    transportOptions.authoritiesFile = sandbox.caFile
    transportOptions.allowsPlainHTTP = true
    let transport = try CurlTransport(transportOptions)
    do {
        try await body(SandboxClient(sandbox: sandbox, transport: transport, time: time))
    } catch {
        await transport.close()
        await sandbox.stop(grace: .zero)
        throw error
    }
    await transport.close()
    await sandbox.stop(grace: .zero)
}

/// The JSON parser of the tests.
enum JSONText {
    static func parse(_ bytes: [UInt8]) throws -> JSONValue {
        try JSONParser(limits: .init(bytes: 64 * 1_024 * 1_024, depth: 64)).parse(bytes).get()
    }
}

extension JSONValue {
    /// The value at a place such as `error/details/0/errorCode`.
    func at(_ way: String) -> JSONValue? {
        JSONPointer("/" + way)?.value(in: self)
    }
}

extension TransferAnswer {
    var json: JSONValue? { try? JSONText.parse(body) }

    /// FCM's own error code, from any of the details.
    var fcmErrorCode: String? {
        json?.at("error/details")?.array?.compactMap { $0["errorCode"]?.string }.first
    }

    /// The first invalid field that the answer names.
    var violatedField: String? {
        json?.at("error/details/0/fieldViolations/0/field")?.string
    }
}
