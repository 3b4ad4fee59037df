import BellhopRules

/// A rejection by the token endpoint, in the form of RFC 6749.
struct TokenRefusal: Error, Equatable {
    let status: Int
    /// A code such as `invalid_grant`.
    let code: String
    let description: String

    init(_ code: String, _ description: String, status: Int = 400) {
        self.status = status
        self.code = code
        self.description = description
    }

    static func invalidGrant(_ description: String) -> TokenRefusal {
        TokenRefusal("invalid_grant", description)
    }

    static func invalidRequest(_ description: String) -> TokenRefusal {
        TokenRefusal("invalid_request", description)
    }

    var answer: ProviderAnswer {
        let body: JSONValue = ["error": .string(code), "error_description": .string(description)]
        return ProviderAnswer(http: .json(status, JSONWriter.canonicalBytes(of: body)), reason: code)
    }
}
