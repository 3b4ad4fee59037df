import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime
import Testing

@testable import Sandbox

/// A valid push that a test can change.
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
    /// The text before the token.
    ///
    /// `nil` omits the authorization.
    var scheme: String? = "bearer"
    var spoilsSignature = false
    /// A token that was signed before.
    ///
    /// A connection must not receive a new token with every request.
    private var sealed: String?
    private let key: PrivateKey

    init(_ client: SandboxClient) throws {
        let apns = client.sandbox.apnsKey
        key = try PrivateKey(pem: apns.p8)
        tokenHeader = ["alg": "ES256", "kid": .string(apns.keyID)]
        let now = client.time.now().microseconds / 1_000_000
        claims = ["iss": .string(apns.teamID), "iat": .number(JSONNumber(now))]
    }

    /// Keeps one token for all later requests.
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

    /// Makes the request.
    ///
    /// `extra` are further headers, which may repeat a name.
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
    /// Returns the answer of APNs' production environment to a push.
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
    /// The reason that APNs gives.
    var reason: String? { json?["reason"]?.string }
}
