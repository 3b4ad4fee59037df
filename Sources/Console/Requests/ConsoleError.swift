import HTTPServer

/// The reason why a request fails, in the form that a page receives.
struct ConsoleError: Error, Sendable {
    let status: Int
    /// In kebab case.
    let code: String
    let message: String
    var field: String?
    var headers: [(name: String, value: String)] = []

    var response: HTTPResponse {
        var response = HTTPResponse.failure(status, code: code, message: message, field: field)
        for header in headers { response.headers[header.name] = header.value }
        return response
    }

    static func field(_ field: String, _ message: String) -> ConsoleError {
        ConsoleError(status: 422, code: "invalid-field", message: message, field: field)
    }

    init(status: Int, code: String, message: String, field: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.field = field
    }

    static let signedOut = ConsoleError(status: 401, code: "signed-out", message: "sign in first")
    static let viewer = ConsoleError(
        status: 403,
        code: "viewer",
        message: "a viewer may look and not act; ask for the role operator"
    )
    static let strangePage = ConsoleError(
        status: 403,
        code: "not-this-page",
        message: "the request did not come from the console's page; reload it"
    )
    static let longAnswer = ConsoleError(
        status: 409,
        code: "try-again",
        message: "the answer exceeds 32 MiB; narrow the filter, or use the command line"
    )
    static let busy = ConsoleError(status: 503, code: "busy", message: "too many concurrent requests; retry")
    static let tooManyAttempts = ConsoleError(
        status: 429,
        code: "too-many-attempts",
        message: "too many attempts to sign in; wait a minute"
    )
    static let bug = ConsoleError(status: 500, code: "internal", message: "the console failed")
    static let wrongToken = ConsoleError(status: 401, code: "wrong-token", message: "unknown token")
}
