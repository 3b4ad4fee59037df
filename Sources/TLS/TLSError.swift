import Cryptography

/// Why a TLS context could not be made.
package struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The trusted authorities cannot be read, or there are none among what was given.
        case authorities
        /// The certificate or its key cannot be used.
        case identity
        /// OpenSSL has no memory.
        case resources
    }

    package let code: Code

    /// What was attempted, what came back and what to do.
    package let text: String

    package var description: String { text }

    init(_ code: Code, attempted: String, whatToDo: String) {
        self.code = code
        text = "\(attempted): \(OpenSSLErrors.drain()); \(whatToDo)"
    }
}
