package import BellhopRules
import Cryptography

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
