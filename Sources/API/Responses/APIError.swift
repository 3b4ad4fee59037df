import BellhopRules
package import HTTPServer
import Postgres
import Store

/// The reason why a call fails, in the form that its caller receives.
package struct APIError: Error, Sendable {
    let status: Int
    /// In kebab case.
    ///
    /// Clients depend on it.
    let code: String
    let message: String
    /// The invalid member or parameter.
    var field: String?
    /// The number of the faulty element of a batch, counted from 0.
    var index: Int?
    var headers: [(name: String, value: String)] = []

    init(_ status: Int, _ code: String, _ message: String, field: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.field = field
    }

    package var response: HTTPResponse {
        var response = HTTPResponse.failure(status, code: code, message: message, field: field, index: index)
        for header in headers { response.headers[header.name] = header.value }
        return response
    }

    func with(_ name: String, _ value: String) -> APIError {
        var fault = self
        fault.headers.append((name, value))
        return fault
    }
}

extension APIError {
    /// Makes a fault of an invalid or missing value.
    static func field(_ field: String, _ message: String) -> APIError {
        APIError(422, "invalid-field", message, field: field)
    }

    /// Creates a fault from a rejection by the rules.
    ///
    /// The place is written without its first slash.
    init(_ rejection: Rejection) {
        if rejection.reason == .malformedJSON {
            self.init(400, "malformed-json", rejection.message)
        } else {
            let field = String(rejection.pointer.text.dropFirst())
            self.init(422, "invalid-field", rejection.message, field: field.isEmpty ? nil : field)
        }
    }

    /// Creates a fault without the database's message, which only the log contains.
    init(_ error: StoreError) {
        let isTransient = error.isTransient || error.code == .cannotConnect || error.code == .cancelled
        self.init(
            isTransient ? 503 : 500,
            isTransient ? "unavailable" : "internal",
            isTransient ? "temporarily unavailable; retry" : "the service failed"
        )
        if isTransient { headers.append(("Retry-After", "1")) }
    }

    /// Makes a fault for a caller that has to wait.
    static func tooMany(_ wait: Duration) -> APIError {
        let seconds = max(1, (wait.microseconds + 999_999) / 1_000_000)
        return APIError(429, "too-many-requests", "too many calls; wait a little").with("Retry-After", "\(seconds)")
    }

    /// The token is valid, but its user was erased after it was issued.
    static let erased = APIError(401, "erased", "the user was erased after the token was issued")
        .with("WWW-Authenticate", "Bearer")

    /// The fault for an invalid token.
    ///
    /// It does not tell the cause.
    static let unauthorized = APIError(401, "unauthorized", "a valid bearer token is needed")
        .with("WWW-Authenticate", "Bearer")

    /// Returned for a token whose issuer's keys have not been fetched yet, so that clients keep their users signed in.
    static let keysUnavailable = APIError(503, "keys-unavailable", "the keys of the token's issuer are not loaded yet")
        .with("Retry-After", "5")
}
