package import Cryptography

/// What somebody may do at the console.
package enum OperatorRole: String, CaseIterable, Sendable {
    /// May look, and see nothing personal.
    case viewer
    /// May act, and reveal what the audit then notes.
    case `operator`
}

/// Somebody who may sign in: a name for the audit, a role, and what their token looks like from outside.
package struct Operator: Hashable, Sendable {
    package let name: String
    package let role: OperatorRole
    /// SHA-256 of the token: a token is random and long, so that no slow hash is needed to keep it from being guessed.
    package let tokenHash: [UInt8]

    package init(name: String, role: OperatorRole, tokenHash: [UInt8]) {
        self.name = name
        self.role = role
        self.tokenHash = tokenHash
    }

    /// Somebody new, and the token that nobody can read out of the file again.
    package static func enlisted(
        as name: String,
        _ role: OperatorRole
    ) throws(CryptographyError) -> (person: Operator, token: String) {
        let token = tokenPrefix + Base64URL.encode(try SecureRandom.bytes(32))
        return (Operator(name: name, role: role, tokenHash: hash(of: token)), token)
    }

    /// What is compared and kept in place of a token.
    static func hash(of token: String) -> [UInt8] {
        SHA256.digest(of: Array(token.utf8)).bytes
    }

    /// The rule for names: what an audit and a screen can show, in one line.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    package static let nameRule = "a name of 1 to 64 bytes without blanks"

    /// So that whoever finds one in a file or a log knows what it is.
    private static let tokenPrefix = "bhop_"
}
