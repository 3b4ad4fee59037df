import HTTPServer
import ServiceRuntime

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

    /// Converts a command's failure.
    ///
    /// It is `nil` if the command has answered: a paused replay ends with 75, for example, and is still an answer.
    init?(_ answer: CommandResult) {
        guard answer.output.isEmpty || !answer.complaint.isEmpty else { return nil }
        let words = answer.complaint.split(separator: "\n").last.map(String.init) ?? ""
        let lead = "bellhop: "
        let message = words.hasPrefix(lead) ? String(words.dropFirst(lead.count)) : words
        switch answer.exitCode {
        case .done: return nil
        case .answerIsNo where message.isEmpty: return nil
        case .answerIsNo: self.init(status: 409, code: "no", message: message)
        case .usage, .badInput: self.init(status: 422, code: "refused", message: message)
        case .unavailable: self.init(status: 503, code: "unavailable", message: message)
        case .tryAgain: self.init(status: 409, code: "try-again", message: message)
        case .bug, .configuration: self.init(status: 500, code: "failed", message: message)
        }
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
    static let busy = ConsoleError(status: 503, code: "busy", message: "too many concurrent requests; retry")
    static let tooManyAttempts = ConsoleError(
        status: 429,
        code: "too-many-attempts",
        message: "too many attempts to sign in; wait a minute"
    )
    static let bug = ConsoleError(status: 500, code: "internal", message: "the console failed")
    static let wrongToken = ConsoleError(status: 401, code: "wrong-token", message: "unknown token")
}
