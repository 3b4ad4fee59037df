import Cryptography

/// The reason why a TLS context could not be created.
package struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The trusted authorities cannot be read, or the input contains none.
        case authorities
        /// The certificate or its key is not usable.
        case identity
        /// OpenSSL has no memory.
        case resources
    }

    package let code: Code

    /// The attempted operation, the error, and the required action.
    package let text: String

    package var description: String { text }

    init(_ code: Code, attempted: String, whatToDo: String) {
        self.code = code
        text = "\(attempted): \(OpenSSLErrors.drain()); \(whatToDo)"
    }
}
