/// Why a request has no answer, or why a transport could not be made.
///
/// The text names host and port only. Paths, queries and headers carry device tokens and credentials, and never
/// appear in it.
package struct TransferError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The request itself cannot be sent: its URL, a header, or a scheme that the transport does not allow.
        case invalidRequest

        /// The transport's options make no sense or name a file that cannot be read.
        case invalidOptions

        /// The host's name has no address.
        case nameLookup

        /// No connection came about.
        case connect

        /// Every address of the host is one that the transport's policy forbids.
        case addressRefused

        /// The TLS handshake broke off; it may pass another time.
        case tls

        /// The peer's certificate does not satisfy us: a matter of configuration.
        case certificate

        /// One of the request's timeouts passed.
        case timeout

        /// The connection died.
        case connectionLost

        /// The answer began and ended early.
        case incompleteAnswer

        /// What the peer said is not proper HTTP.
        case protocolViolation

        /// The task that waited for the batch was cancelled.
        case cancelled

        /// The transport is closed or closing.
        case closed

        /// The library underneath failed for a reason of its own, such as a lack of memory.
        case library
    }

    package let code: Code

    /// What was attempted, what came back and what to do.
    package let text: String

    package var description: String { text }

    package init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }

    /// That `request` must not be sent, and why.
    static func refusal(of request: TransferRequest, _ reason: String) -> TransferError {
        TransferError(.invalidRequest, "\(request.attempt) refused before sending: \(reason)")
    }
}

extension TransferError.Code {
    /// What to do about it, as the end of a text.
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
