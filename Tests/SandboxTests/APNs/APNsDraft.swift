import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime
import Testing

@testable import Sandbox

/// A push that is right until a test spoils it.
struct APNsDraft {
    var method = TransferRequest.Method.post
    var path = "/3/device/00fc13adff785122"
    var headers: [String: String] = [
        "apns-topic": "com.example.bellhop", "apns-push-type": "alert", "apns-priority": "10",
        "apns-expiration": "1800000000", "apns-id": "8e4f0b1a-3c5d-4e6f-8a9b-0c1d2e3f4a5b",
        "apns-collapse-id": "noti_1",
    ]
    var body = #"{"aps":{"alert":{"title":"t","body":"b"},"badge":1,"sound":"default"},"type":"x"}"#
    var tokenHeader: JSONObject
    var claims: JSONObject
    /// What stands before the token; nil leaves the authorization away.
    var scheme: String? = "bearer"
    var spoilsSignature = false
    /// A token that was signed before: a connection may not see a new one for each request.
    private var sealed: String?
    private let key: PrivateKey

    init(_ client: SandboxClient) throws {
        let apns = client.sandbox.apnsKey
        key = try PrivateKey(pem: apns.p8)
        tokenHeader = ["alg": "ES256", "kid": .string(apns.keyID)]
        let now = client.time.now().microseconds / 1_000_000
        claims = ["iss": .string(apns.teamID), "iat": .number(JSONNumber(now))]
    }

    /// Keeps one token for all requests from here on.
    mutating func seal() throws {
        sealed = try token()
    }

    func token() throws -> String {
        if let sealed { return sealed }
        let token = try JSONWebToken.sign(
            header: JSONWriter.canonicalBytes(of: .object(tokenHeader)),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .es256,
            key: key
        )
        guard spoilsSignature else { return token }
        let dot = try #require(token.lastIndex(of: "."))
        let start = token.index(after: dot)
        return token[..<start] + (token[start] == "A" ? "B" : "A") + token[token.index(after: start)...]
    }

    /// `extra` are headers that come on top, and may come twice.
    func request(to endpoint: String, extra: [TransferRequest.Header] = []) throws -> TransferRequest {
        var fields = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) } + extra
        if let scheme { fields.append((name: "authorization", value: "\(scheme) \(try token())")) }
        return TransferRequest(
            method,
            url: endpoint + path,
            headers: fields,
            body: method == .get ? [] : Array(body.utf8)
        )
    }
}

extension SandboxClient {
    /// The answer of APNs' production to a push.
    func push(
        extra: [TransferRequest.Header] = [],
        _ change: (inout APNsDraft) -> Void = { _ in }
    ) async throws -> TransferAnswer {
        var draft = try APNsDraft(self)
        change(&draft)
        return try await answer(draft.request(to: sandbox.apnsEndpoint, extra: extra))
    }
}

extension TransferAnswer {
    /// APNs' reason.
    var reason: String? { json?["reason"]?.string }
}
