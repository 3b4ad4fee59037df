/// The reason why a request has no answer, or why a transport could not be created.
///
/// The text names only host and port. Paths, queries and headers carry device tokens and credentials, and never appear
/// in it.
package struct TransferError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The request itself cannot be sent: its URL, a header, or a scheme that the transport does not allow.
        case invalidRequest

        /// The transport's options are inconsistent or name a file that cannot be read.
        case invalidOptions

        /// The host's name has no address.
        case nameLookup

        /// No connection was established.
        case connect

        /// The transport's policy forbids every address of the host.
        case addressRefused

        /// The TLS handshake failed; the cause may be temporary.
        case tls

        /// The peer's certificate is not accepted, which is a configuration error.
        case certificate

        /// One of the request's timeouts expired.
        case timeout

        /// The connection was lost.
        case connectionLost

        /// The answer began and ended early.
        case incompleteAnswer

        /// The peer's answer is not valid HTTP.
        case protocolViolation

        /// The task that waited for the batch was cancelled.
        case cancelled

        /// The transport is closed or closing.
        case closed

        /// The library underneath failed for an internal reason, such as a lack of memory.
        case library
    }

    package let code: Code

    /// The attempted operation, the response, and the required action.
    package let text: String

    package var description: String { text }

    package init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }

    /// Returns the error for a request that must not be sent, with the reason.
    static func refusal(of request: TransferRequest, _ reason: String) -> TransferError {
        TransferError(.invalidRequest, "\(request.attempt) refused before sending: \(reason)")
    }
}

extension TransferError.Code {
    /// The required action, as the end of a text.
    var advice: String {
        switch self {
        case .invalidRequest: "check the URL and whether the transport allows its scheme"
        case .nameLookup: "check the host's name and the resolver, or try again"
        case .certificate: "check the authorities that are trusted and the host's name"
        case .addressRefused: "do not try again"
        case .connect, .tls, .timeout: "check the way to the host, or try again"
        default: "try again"
        }
    }
}

/// The local reason for abandoning a request.
enum AbortReason {
    case cancelled
    case closed

    func error(for request: TransferRequest) -> TransferError { error(attempt: request.attempt) }

    /// Returns the same error for any other attempt.
    func error(attempt: String) -> TransferError {
        switch self {
        case .cancelled:
            TransferError(.cancelled, "\(attempt): the task that waited for it was cancelled")
        case .closed:
            TransferError(.closed, "\(attempt): the transport was closed; send it through another one")
        }
    }
}

/// The rules for a request before it is passed to libcurl.
enum RequestRules {
    /// Throws `invalidRequest` for a URL that could break the request line, and for a GET with a body.
    static func check(_ request: TransferRequest) throws(TransferError) {
        guard !request.url.isEmpty, request.url.utf8.allSatisfy(ASCII.isVisible) else {
            throw TransferError(
                .invalidRequest,
                "\(request.method.rawValue) refused before sending: a URL must be visible ASCII without spaces"
            )
        }
        guard request.method != .get || request.body.isEmpty else {
            throw TransferError(
                .invalidRequest,
                "\(request.attempt) refused before sending: a GET must not have a body"
            )
        }
    }
}
