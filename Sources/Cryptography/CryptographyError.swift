/// What went wrong inside OpenSSL, with everything its error queue had to say.
package struct CryptographyError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The operating system or OpenSSL could not provide random bytes.
        case randomUnavailable
        /// A key cannot be read, or is of a kind or size that is not used here.
        case invalidKey
        /// A signature could not be made.
        case signing
        /// Two keys agree on no secret.
        case keyAgreement
        /// Something could not be encrypted, or what was encrypted is not what the key fits.
        case encryption
    }

    package let code: Code

    /// What was attempted, what came back and what to do; never key material.
    package let text: String

    package var description: String { text }

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }
}
