import BellhopRules
import Cryptography

/// A user's code in inbox change notifications: six bytes of a hash.
///
/// It identifies only users who are already known, about a thousand fit into one PostgreSQL notification, and it exists
/// even for a user without a number. Two users with the same code are checked together, which is harmless.
package struct UserHash: Hashable, Sendable {
    let bits: UInt64

    package init(_ recipient: UserKey) {
        let bytes = IdentityHash.recipient(recipient.app, recipient.user).bytes.prefix(Self.bytes)
        bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private init(bits: UInt64) {
        self.bits = bits
    }

    private static let bytes = 6
    /// The number of characters per code in a payload.
    private static let width = 8
    /// The maximum number of codes per payload, which PostgreSQL limits to 7,999 bytes.
    static let mostInPayload = 999

    private var text: String {
        Base64URL.encode((0..<Self.bytes).reversed().map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) })
    }

    /// Returns the codes in as few payloads as possible.
    static func payloads(_ signs: some Collection<UserHash>) -> [String] {
        var payloads: [String] = []
        var rest = signs[...]
        while !rest.isEmpty {
            payloads.append(rest.prefix(mostInPayload).map(\.text).joined())
            rest = rest.dropFirst(mostInPayload)
        }
        return payloads
    }

    /// A payload for all users, sent if the affected users are no longer known.
    package static let everybody = "*"

    /// Reads the codes of a payload; `nil` if no Bellhop process can have sent it.
    package static func read(_ payload: String) -> [UserHash]? {
        let bytes = Array(payload.utf8)
        guard !bytes.isEmpty, bytes.count % width == 0 else { return nil }
        var signs: [UserHash] = []
        for start in stride(from: 0, to: bytes.count, by: width) {
            let word = String(decoding: bytes[start..<start + width], as: UTF8.self)
            guard let read = Base64URL.decode(word), read.count == Self.bytes else { return nil }
            signs.append(UserHash(bits: read.reduce(0) { $0 << 8 | UInt64($1) }))
        }
        return signs
    }
}
