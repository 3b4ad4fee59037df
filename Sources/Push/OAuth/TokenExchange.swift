import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime

/// The exchange of a service account's signed assertion for an access token (RFC 7523), in Google's form; without side
/// effects.
package struct TokenExchange: Sendable {
    package let account: ServiceAccount
    /// The address of the requests, which may differ from the assertion's audience.
    let endpoint: String

    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let timeouts = TransferTimeouts(total: .seconds(10), connect: .seconds(5))

    /// The lifetime of an assertion in seconds, which is Google's maximum.
    private static let assertionLife: Int64 = 3600

    package init(account: ServiceAccount, endpoint: String? = nil) {
        self.account = account
        self.endpoint = endpoint ?? account.tokenURI
    }

    /// Returns the request with a newly signed assertion.
    func request(now: Instant) throws(CryptographyError) -> TransferRequest {
        let issuedAt = now.microseconds / 1_000_000
        let header: JSONObject = ["alg": "RS256", "kid": .string(account.keyID), "typ": "JWT"]
        let claims: JSONObject = [
            "aud": .string(account.tokenURI), "iss": .string(account.email), "scope": .string(Self.scope),
            "iat": .number(JSONNumber(issuedAt)), "exp": .number(JSONNumber(issuedAt + Self.assertionLife)),
        ]
        let assertion = try JSONWebToken.sign(
            header: JSONWriter.canonicalBytes(of: .object(header)),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .rs256,
            key: account.key
        )
        // The alphabet of a token needs no escapes in a form.
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion
        return TransferRequest(
            .post,
            url: endpoint,
            headers: [("content-type", "application/x-www-form-urlencoded")],
            body: Array(form.utf8),
            timeouts: Self.timeouts
        )
    }

    /// Returns the result of a request.
    ///
    /// A token's lifetime counts from `askedAt`, which is never too late. An unknown outcome counts as a failure,
    /// because a repeat does no harm.
    func read(_ outcome: TransferOutcome, askedAt: Instant) -> Result<AccessToken, TokenRefusal> {
        switch outcome {
        case .answered(let answer) where answer.status == 200: token(in: answer.body, askedAt)
        case .answered(let answer): .failure(refusal(answer))
        case .notSent(let error), .unknown(let error): .failure(refusal(error))
        }
    }

    private func token(in body: [UInt8], _ askedAt: Instant) -> Result<AccessToken, TokenRefusal> {
        let answer = JSONParser().parse(body).value
        guard let text = answer?["access_token"]?.string, (1...8192).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            let text = "the token endpoint answered 200 without an access token: check that its address is right"
            return .failure(TokenRefusal(kind: .refused, text: text))
        }
        return .success(AccessToken(text, obtainedAt: askedAt, lifetime: Self.lifetime(answer?["expires_in"])))
    }

    /// Returns the lifetime from seconds as a number or as a text.
    ///
    /// The default is an hour, which is Google's default, and the maximum is 86,400 seconds.
    private static func lifetime(_ value: JSONValue?) -> Duration {
        let seconds = value?.number?.double ?? value?.string.flatMap(Double.init) ?? 3600
        // A NaN fails every comparison and gives the minimum.
        return seconds >= 1 ? .seconds(min(seconds, 86_400)) : .seconds(1)
    }

    private func refusal(_ answer: TransferAnswer) -> TokenRefusal {
        let code = JSONParser().parse(answer.body).value?["error"]?.string.flatMap(Self.knownWord)
        let found = "the token endpoint answered \(answer.status)" + (code.map { " \($0)" } ?? "")
        guard Self.passes(answer.status, code) else {
            return TokenRefusal(kind: .refused, text: found + ": " + Self.advice(code))
        }
        let wait = answer.retryAfterSeconds.map(ProviderWait.clamped)
        return TokenRefusal(kind: .unavailable, text: found + ": it is asked again later", retryAfter: wait)
    }

    private func refusal(_ error: TransferError) -> TokenRefusal {
        switch error.code {
        case .certificate, .invalidRequest, .invalidOptions, .addressRefused:
            TokenRefusal(kind: .refused, text: "the token endpoint cannot be asked: \(error)")
        default:
            TokenRefusal(kind: .unavailable, text: "the token endpoint did not answer: \(error)")
        }
    }

    private static func passes(_ status: Int, _ code: String?) -> Bool {
        if status == 408 || status == 429 || (500...599).contains(status) { return true }
        return code == "internal_failure" || code == "server_error" || code == "temporarily_unavailable"
    }

    private static func advice(_ code: String?) -> String {
        switch code {
        case "invalid_grant":
            "check this machine's clock, and that the service account and its key still exist and are enabled"
        case "invalid_scope", "unauthorized_client", "invalid_client", "access_denied":
            "check that the service account may use Firebase Cloud Messaging"
        default: "check the service account's file and the endpoint's address"
        }
    }

    /// Returns the text if it has the form of an error code, a word of a few letters; other text is not logged.
    private static func knownWord(_ text: String) -> String? {
        let isWord =
            (1...40).contains(text.utf8.count) && text.utf8.allSatisfy { $0 == 0x5F || (0x61...0x7A).contains($0) }
        return isWord ? text : nil
    }
}
