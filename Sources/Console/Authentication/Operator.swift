package import Cryptography

/// The rights of an operator at the console.
package enum OperatorRole: String, CaseIterable, Sendable {
    /// Allows reading, without personal data.
    case viewer
    /// Allows acts, and the audited display of personal data.
    case `operator`
}

/// A person who may sign in: a name for the audit, a role, and the hash of a token.
package struct Operator: Hashable, Sendable {
    package let name: String
    package let role: OperatorRole
    /// The hash of the token, as ``BearerToken`` makes it.
    package let tokenHash: [UInt8]

    package init(name: String, role: OperatorRole, tokenHash: [UInt8]) {
        self.name = name
        self.role = role
        self.tokenHash = tokenHash
    }

    /// Creates an operator and a token.
    ///
    /// The token cannot be recovered from the file.
    package static func enlisted(
        as name: String,
        _ role: OperatorRole
    ) throws(CryptographyError) -> (person: Operator, token: String) {
        let (token, hash) = try BearerToken.make(prefix: "bhop_")
        return (Operator(name: name, role: role, tokenHash: hash), token)
    }

    /// Whether a name fits on one line of the audit and of a screen.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    package static let nameRule = "a name of 1 to 64 bytes without blanks"
}
