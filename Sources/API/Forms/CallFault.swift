import BellhopRules
package import HTTPServer
import Postgres

/// Why a call is not done, as its caller is told.
package struct CallFault: Error, Sendable {
    let status: Int
    /// In kebab case; clients go by it.
    let code: String
    let message: String
    /// The member or parameter that is wrong.
    var field: String?
    var headers: [(name: String, value: String)] = []

    init(_ status: Int, _ code: String, _ message: String, field: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.field = field
    }

    package var response: HTTPResponse {
        var response = HTTPResponse.failure(status, code: code, message: message, field: field)
        for header in headers { response.headers[header.name] = header.value }
        return response
    }

    func with(_ name: String, _ value: String) -> CallFault {
        var fault = self
        fault.headers.append((name, value))
        return fault
    }
}

extension CallFault {
    /// A value that must not be, or one that is missing.
    static func field(_ field: String, _ message: String) -> CallFault {
        CallFault(422, "invalid-field", message, field: field)
    }

    /// In the words of the rules; a place is written without its first slash.
    init(_ rejection: Rejection) {
        if rejection.reason == .malformedJSON {
            self.init(400, "malformed-json", rejection.message)
        } else {
            let field = String(rejection.pointer.text.dropFirst())
            self.init(422, "invalid-field", rejection.message, field: field.isEmpty ? nil : field)
        }
    }

    /// What the database had to say stays in the log.
    init(_ error: PostgresError) {
        let isTransient = error.isTransient || error.code == .cannotConnect || error.code == .cancelled
        self.init(
            isTransient ? 503 : 500,
            isTransient ? "unavailable" : "internal",
            isTransient ? "temporarily unavailable; retry" : "the service failed"
        )
        if isTransient { headers.append(("Retry-After", "1")) }
    }

    /// The caller has to wait.
    static func tooMany(_ wait: Duration) -> CallFault {
        let seconds = max(1, (wait.microseconds + 999_999) / 1_000_000)
        return CallFault(429, "too-many-requests", "too many calls; wait a little").with("Retry-After", "\(seconds)")
    }

    /// The token is valid, but its user was erased after it was issued.
    static let erased = CallFault(401, "erased", "the user was erased after the token was issued")
        .with("WWW-Authenticate", "Bearer")

    /// One that says nothing of what is wrong with the token.
    static let unauthorized = CallFault(401, "unauthorized", "a valid bearer token is needed")
        .with("WWW-Authenticate", "Bearer")
}
