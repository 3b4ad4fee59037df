/// An error of OpenSSL, with the contents of its error queue.
package struct CryptographyError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The operating system or OpenSSL could not provide random bytes.
        case randomUnavailable
        /// A key cannot be read, or its kind or size is not supported.
        case invalidKey
        /// A signature could not be created.
        case signing
        /// Two keys do not yield a shared secret.
        case keyAgreement
        /// Data could not be encrypted, or the ciphertext does not belong to the key.
        case encryption
    }

    package let code: Code

    /// The attempted operation, the error and the required action; never key material.
    package let text: String

    package var description: String { text }

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }
}
