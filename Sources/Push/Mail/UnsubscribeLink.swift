package import BellhopRules
import Cryptography

/// Makes and checks the links by which a reader ends the mails of an app without signing in.
///
/// The token says for whom it speaks and proves it (HMAC-SHA256), so that nothing has to be stored and nobody can make
/// one for somebody else. It has no end: mails are kept for years, and their links must work. It shows the user's id to
/// whoever decodes it, and of the address a hash alone. What acts on it must do so on POST alone (RFC 8058), since programs that
/// look for bad links follow every GET.
package struct UnsubscribeLink: Sendable {
    /// For whom a link speaks, and what it ends.
    package struct Subject: Hashable, Sendable {
        /// What ends; a link for one purpose proves nothing for another.
        package enum Purpose: String, CaseIterable, Hashable, Sendable {
            /// All notifications by e-mail, the setting `emailEnabled`.
            case allMail = "mail"
        }

        package let app: AppID
        package let user: UserID
        package let purpose: Purpose
        /// Stands for the address that the mail went to; `nil` in links of mails that were sent before it was told.
        package let addressHash: [UInt8]?

        package init(app: AppID, user: UserID, purpose: Purpose = .allMail, addressHash: [UInt8]? = nil) {
            self.app = app
            self.user = user
            self.purpose = purpose
            self.addressHash = addressHash
        }

        /// For a mail to that address.
        package init(app: AppID, user: UserID, mailedTo address: EmailAddress) {
            self.init(app: app, user: user, addressHash: Self.hash(of: address, app))
        }

        /// As `email_hash` of the database computes it: the first 16 bytes of SHA-256 over app and address, the letters A
        /// to Z in lower case.
        static func hash(of address: EmailAddress, _ app: AppID) -> [UInt8] {
            let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
            let folded = address.text.utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }
            return SHA256.digest(of: Array("address \(app.text) ".utf8) + folded).prefix(Self.hashBytes)
        }

        fileprivate static let hashBytes = 16
    }

    /// What a proof begins with, so that keys that serve elsewhere too cannot be made to speak for us.
    private static let context = Array("bellhop unsubscribe 1\0".utf8)
    private static let longestToken = 1024

    /// Bytes of a base: it stands in the head of a mail with a token behind it, on a line of 998 bytes at most.
    static let longestBase = 400

    private let base: String
    private let keys: UnsubscribeKeys

    /// `base` is an `https` URL without a slash at its end; a slash and the token are put behind it.
    package init(base: String, keys: UnsubscribeKeys) {
        self.base = base
        self.keys = keys
    }

    package func url(for subject: Subject) -> String { "\(base)/\(token(for: subject))" }

    /// Letters, digits, hyphens and underscores.
    package func token(for subject: Subject) -> String {
        let statement = Self.statement(subject)
        return Base64URL.encode(HMAC.sha256(of: Self.context + statement, key: keys.current) + statement)
    }

    /// For whom a token speaks; nil for one that none of our keys has made.
    package func check(_ token: String) -> Subject? {
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

    /// Purpose, app, the hash of the address in base64url, and user.
    ///
    /// None of the first three can contain the NUL that ends them. A statement without a hash is that of an older link.
    private static func statement(_ subject: Subject) -> [UInt8] {
        let (purpose, app, user) = (subject.purpose.rawValue, subject.app.text, subject.user.text)
        guard let hash = subject.addressHash else { return Array("\(purpose)\0\(app)\0\(user)".utf8) }
        return Array("\(purpose)\(addressed)\0\(app)\0\(Base64URL.encode(hash))\0\(user)".utf8)
    }

    /// What the purpose of a link ends with that names its address.
    private static let addressed = "-to"

    private static func subject(_ statement: [UInt8]) -> Subject? {
        var parts = statement.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 3 else { return nil }
        var hash: [UInt8]?
        if parts[0].hasSuffix(addressed) {
            parts[0].removeLast(addressed.count)
            let rest = parts[2].split(separator: "\0", maxSplits: 1, omittingEmptySubsequences: false)
            guard rest.count == 2, let bytes = Base64URL.decode(String(rest[0])), bytes.count == Subject.hashBytes
            else {
                return nil
            }
            (hash, parts[2]) = (bytes, String(rest[1]))
        }
        guard let purpose = Subject.Purpose(rawValue: parts[0]), let app = AppID(validating: parts[1]),
            let user = UserID(validating: parts[2])
        else { return nil }
        return Subject(app: app, user: user, purpose: purpose, addressHash: hash)
    }
}

/// The keys that unsubscribe links are proven with: the first makes new ones, all of them are accepted.
///
/// A new key goes in front of the old ones, which stay for as long as their mails are kept.
package struct UnsubscribeKeys: Sendable, CustomStringConvertible, CustomReflectable {
    let current: [UInt8]
    let all: [[UInt8]]

    /// Shorter ones could be guessed.
    package static let shortest = 32

    /// Reads one key per line, at least 32 bytes each; blank lines and those that begin with # are left out.
    ///
    /// Nil where there is no key, or one that is too short.
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
