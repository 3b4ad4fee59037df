package import BellhopRules
import Cryptography

/// Creates and checks the links by which a user ends an app's mails without signing in.
///
/// The token names its subject and proves it (HMAC-SHA256), so that nothing must be stored and a user cannot create one
/// for another user. It does not expire, because mails are kept for years and their links must work. A decoded token
/// reveals the user's id, but only a hash of the address. Programs must act on a token only for POST (RFC 8058),
/// because link checkers follow every GET.
package struct UnsubscribeLink: Sendable {
    /// The subject of a link: its user and its purpose.
    package struct Target: Hashable, Sendable {
        /// The effect of a link; a link for one purpose proves nothing for another.
        package enum Purpose: String, CaseIterable, Hashable, Sendable {
            /// Ends all notifications by e-mail, the setting `emailEnabled`.
            case allMail = "mail"
        }

        package let app: AppID
        package let user: UserID
        package let purpose: Purpose
        /// The hash of the mail's address; `nil` in the links of older mails, which did not include it.
        package let addressHash: [UInt8]?

        package init(app: AppID, user: UserID, purpose: Purpose = .allMail, addressHash: [UInt8]? = nil) {
            self.app = app
            self.user = user
            self.purpose = purpose
            self.addressHash = addressHash
        }

        /// Creates the subject for a mail to that address.
        package init(app: AppID, user: UserID, mailedTo address: EmailAddress) {
            self.init(app: app, user: user, addressHash: Self.hash(of: address, app))
        }

        /// Returns the hash that the database's `email_hash` computes: the first 16 bytes of SHA-256 over app and
        /// address, with the letters A to Z in lower case.
        static func hash(of address: EmailAddress, _ app: AppID) -> [UInt8] {
            let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
            let folded = address.text.utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }
            return SHA256.digest(of: Array("address \(app.text) ".utf8) + folded).prefix(Self.hashBytes)
        }

        fileprivate static let hashBytes = 16
    }

    /// The prefix of a proof, so that a key that is also used elsewhere cannot be misused to create a link.
    private static let context = Array("bellhop unsubscribe 1\0".utf8)
    private static let longestToken = 1024

    /// The maximum number of bytes of a base.
    ///
    /// It is in the head of a mail with a token after it, on a line of at most 998 bytes.
    static let longestBase = 400

    private let base: String
    private let keys: UnsubscribeKeys

    /// Creates the links; `base` is an `https` URL without a trailing slash, to which a slash and the token are
    /// appended.
    package init(base: String, keys: UnsubscribeKeys) {
        self.base = base
        self.keys = keys
    }

    package func url(for subject: Target) -> String { "\(base)/\(token(for: subject))" }

    /// Returns the token, which consists of letters, digits, hyphens and underscores.
    package func token(for subject: Target) -> String {
        let statement = Self.statement(subject)
        return Base64URL.encode(HMAC.sha256(of: Self.context + statement, key: keys.current) + statement)
    }

    /// Returns the subject of a token; `nil` if none of the keys has created it.
    package func check(_ token: String) -> Target? {
        guard token.utf8.count <= Self.longestToken, let bytes = Base64URL.decode(token),
            bytes.count > Digest.byteCount
        else { return nil }
        let proof = Array(bytes.prefix(Digest.byteCount))
        let statement = Array(bytes.dropFirst(Digest.byteCount))
        guard keys.all.contains(where: { HMAC.isValid(proof, of: Self.context + statement, key: $0) }) else {
            return nil
        }
        return Self.subject(statement)
    }

    /// Returns the statement: purpose, app, the hash of the address in base64url, and user.
    ///
    /// None of the first three can contain the NUL that ends them. A statement without a hash is that of an older link.
    private static func statement(_ subject: Target) -> [UInt8] {
        let (purpose, app, user) = (subject.purpose.rawValue, subject.app.text, subject.user.text)
        guard let hash = subject.addressHash else { return Array("\(purpose)\0\(app)\0\(user)".utf8) }
        return Array("\(purpose)\(addressed)\0\(app)\0\(Base64URL.encode(hash))\0\(user)".utf8)
    }

    /// The suffix of the purpose in a link that names its address.
    private static let addressed = "-to"

    private static func subject(_ statement: [UInt8]) -> Target? {
        var parts = statement.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 3 else { return nil }
        var hash: [UInt8]?
        if parts[0].hasSuffix(addressed) {
            parts[0].removeLast(addressed.count)
            let rest = parts[2].split(separator: "\0", maxSplits: 1, omittingEmptySubsequences: false)
            guard rest.count == 2, let bytes = Base64URL.decode(String(rest[0])), bytes.count == Target.hashBytes
            else {
                return nil
            }
            (hash, parts[2]) = (bytes, String(rest[1]))
        }
        guard let purpose = Target.Purpose(rawValue: parts[0]), let app = AppID(validating: parts[1]),
            let user = UserID(validating: parts[2])
        else { return nil }
        return Target(app: app, user: user, purpose: purpose, addressHash: hash)
    }
}

/// The keys that prove unsubscribe links: the first one creates new links, and all of them are accepted.
///
/// A new key must be placed before the old ones, which must stay for as long as their mails are kept.
package struct UnsubscribeKeys: Sendable, CustomStringConvertible, CustomReflectable {
    let current: [UInt8]
    let all: [[UInt8]]

    /// The minimum length of a key in bytes; shorter keys could be guessed.
    package static let shortest = 32

    /// Reads one key per line, at least 32 bytes each.
    ///
    /// Blank lines and lines that begin with # are skipped. The result is `nil` if there is no key, or one that is too
    /// short.
    package init?(file bytes: [UInt8]) {
        let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }.map { line in
            Array(line.drop { $0 == 0x20 || $0 == 0x09 }.reversed().drop { $0 == 0x20 || $0 == 0x09 }.reversed())
        }
        all = lines.filter { !$0.isEmpty && $0.first != UInt8(ascii: "#") }
        guard let first = all.first, all.allSatisfy({ $0.count >= Self.shortest }) else { return nil }
        current = first
    }

    package var description: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
