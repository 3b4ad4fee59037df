import BellhopRules
import ServiceRuntime

/// Emulates `https://oauth2.googleapis.com/token`: issues an access token for a service account's signed assertion.
struct TokenEndpoint: ProviderStandIn {
    static let path = "/token"
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    let name = ProviderName.oauth
    let accounts: [SandboxServiceAccount]
    let tokens: AccessTokens
    /// The permitted audiences of an assertion.
    let audiences: Set<String>

    func serves(path: String) -> Bool { path == Self.path }

    func judge(_ request: HTTP2Request, now: Instant) -> ProviderDecision {
        do {
            let assertion = try assertion(in: request)
            var judgement = judge(assertion, now: now)
            judgement.content = .json([
                "grant_type": .string(Self.grantType),
                "assertion": ["header": .object(assertion.header), "claims": .object(assertion.claims)],
            ])
            return judgement
        } catch {
            // An unreadable assertion may still contain a valid signature, so it is not kept.
            var judgement = ProviderDecision.refuse(error.description, error.answer)
            judgement.content = .json(.null)
            return judgement
        }
    }

    func answer(to fault: SandboxFault.Answer) -> StandInAnswer {
        let usual =
            switch fault.status {
            case 400: "invalid_grant"
            case 401: "invalid_client"
            case 503: "temporarily_unavailable"
            case 500...: "server_error"
            default: "invalid_request"
            }
        let refusal = OAuthError(fault.reason ?? usual, "The sandbox was told to send this.", status: fault.status)
        return refusal.answer.with(retryAfter: fault.retryAfter)
    }

    private func assertion(in request: HTTP2Request) throws(OAuthError) -> Assertion {
        guard request.method == "POST" else { throw OAuthError("invalid_request", "Use POST.", status: 405) }
        let type = request.headers["content-type"]?.split(separator: ";").first.map(String.init)?.lowercased()
        guard type == "application/x-www-form-urlencoded" else {
            throw .invalidRequest("The content type must be application/x-www-form-urlencoded.")
        }
        guard let form = FormBody(request.body) else { throw .invalidRequest("The form cannot be read.") }
        guard let grant = form["grant_type"] else {
            throw .invalidRequest("Required parameter is missing: grant_type")
        }
        guard grant == Self.grantType else {
            throw OAuthError("unsupported_grant_type", "Invalid grant_type: \(grant)")
        }
        guard let text = form["assertion"] else { throw .invalidRequest("Required parameter is missing: assertion") }
        guard let assertion = Assertion(text) else {
            throw .invalidGrant("Invalid JWT: the assertion is not three parts of base64url around JSON.")
        }
        return assertion
    }

    private func judge(_ assertion: Assertion, now: Instant) -> ProviderDecision {
        guard let account = accounts.first(where: { $0.email == assertion.claims["iss"]?.string }) else {
            let refusal = OAuthError.invalidGrant("Invalid grant: account not found")
            return .refuse(refusal.description, refusal.answer)
        }
        if let refusal = assertion.fault(for: account, audiences: audiences, now: now) {
            return .refuse(refusal.description, refusal.answer)
        }
        return ProviderDecision { [tokens] in Self.grant(tokens, to: account, now: now) }
    }

    private static func grant(_ tokens: AccessTokens, to account: SandboxServiceAccount, now: Instant) -> StandInAnswer
    {
        guard let token = try? tokens.issue(for: account.projectID, now: now) else {
            return OAuthError("server_error", "No random bytes.", status: 500).answer
        }
        let body: JSONValue = [
            "access_token": .string(token), "token_type": "Bearer",
            "expires_in": .number(JSONNumber(tokens.lifetime.microseconds / 1_000_000)),
        ]
        return StandInAnswer(http: .json(200, JSONWriter.canonicalBytes(of: body)), reason: nil)
    }
}

extension StandInAnswer {
    /// Returns the same answer with a `Retry-After` header, if there is a value.
    func with(retryAfter: String?) -> StandInAnswer {
        guard let retryAfter else { return self }
        var http = http
        http.fields.append(HTTP2Answer.Field(name: "retry-after", value: retryAfter))
        return StandInAnswer(http: http, reason: reason)
    }
}

/// A rejection by the token endpoint, in the form of RFC 6749.
struct OAuthError: Error, Equatable {
    let status: Int
    /// A code such as `invalid_grant`.
    let code: String
    let description: String

    init(_ code: String, _ description: String, status: Int = 400) {
        self.status = status
        self.code = code
        self.description = description
    }

    static func invalidGrant(_ description: String) -> OAuthError {
        OAuthError("invalid_grant", description)
    }

    static func invalidRequest(_ description: String) -> OAuthError {
        OAuthError("invalid_request", description)
    }

    var answer: StandInAnswer {
        let body: JSONValue = ["error": .string(code), "error_description": .string(description)]
        return StandInAnswer(http: .json(status, JSONWriter.canonicalBytes(of: body)), reason: code)
    }
}

/// The fields of an `application/x-www-form-urlencoded` body, each name once.
struct FormBody {
    private var fields: [String: String] = [:]

    /// Returns `nil` for a repeated field, an invalid escape, or bytes that are not valid UTF-8.
    init?(_ body: [UInt8]) {
        for item in body.split(separator: UInt8(ascii: "&")) {
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(parts[0], plusIsSpace: true),
                let value = PercentEncoding.decode(parts.count > 1 ? parts[1] : [], plusIsSpace: true)
            else {
                return nil
            }
            guard fields.updateValue(value, forKey: name) == nil else { return nil }
        }
    }

    subscript(name: String) -> String? { fields[name] }
}
