package import BellhopRules
import Cryptography

/// A hash of an event's content, in 16 bytes.
///
/// The same event id with a different hash is an `id-conflict`.
package struct ContentHash: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(of event: Event) {
        bytes = event.withContentBytes { SHA256.digest(of: UnsafeRawBufferPointer($0)).prefix(16) }
    }

    /// Creates a hash from its stored bytes.
    init(stored bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension SubmissionParser {
    /// Returns a parser as all processes use it.
    ///
    /// It assigns ids to events that may omit them.
    package static func hashing(_ catalogs: CatalogSet) -> SubmissionParser {
        SubmissionParser(catalogs) { SHA256.digest(of: $0).bytes }
    }
}

/// A hash that represents an erased user or a revoked token, so that no personal data is kept.
package struct IdentityHash: Sendable, Hashable {
    package let bytes: [UInt8]

    private init(_ parts: String...) {
        var subject: [UInt8] = []
        subject.reserveCapacity(parts.reduce(parts.count) { $0 + $1.utf8.count })
        for part in parts {
            // NUL separates the parts, since no part can contain it.
            if !subject.isEmpty { subject.append(0) }
            subject.append(contentsOf: part.utf8)
        }
        bytes = SHA256.digest(of: subject).prefix(16)
    }

    /// The hash as text, for lists of texts.
    var hex: String { bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined() }

    package static func recipient(_ app: AppID, _ user: UserID) -> IdentityHash {
        IdentityHash("recipient", app.text, user.text)
    }

    package static func subscription(_ app: AppID, _ user: UserID, token: String) -> IdentityHash {
        IdentityHash("subscription", app.text, user.text, token)
    }
}
