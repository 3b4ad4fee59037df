import BellhopRules
import Cryptography

/// What stands for a user where it is told that their inbox has changed: six bytes of a hash.
///
/// It says nothing about anybody who is not known already, fits a thousand times into one notification of PostgreSQL, and is
/// there for somebody who has no number yet. Two users who share one are looked at together, which does no harm.
package struct InboxSign: Hashable, Sendable {
    let bits: UInt64

    package init(_ recipient: RecipientKey) {
        let bytes = SubjectHash.recipient(recipient.app, recipient.user).bytes.prefix(Self.bytes)
        bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private init(bits: UInt64) {
        self.bits = bits
    }

    private static let bytes = 6
    /// Characters of one in a payload.
    private static let width = 8
    /// How many fit into one payload, which PostgreSQL bounds at 7,999 bytes.
    static let mostInPayload = 999

    private var text: String {
        Base64URL.encode((0..<Self.bytes).reversed().map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) })
    }

    /// As few payloads as these fit into.
    static func payloads(_ signs: some Collection<InboxSign>) -> [String] {
        var payloads: [String] = []
        var rest = signs[...]
        while !rest.isEmpty {
            payloads.append(rest.prefix(mostInPayload).map(\.text).joined())
            rest = rest.dropFirst(mostInPayload)
        }
        return payloads
    }

    /// The signs of a payload; nil for one that no program of ours wrote.
    package static func read(_ payload: String) -> [InboxSign]? {
        let bytes = Array(payload.utf8)
        guard !bytes.isEmpty, bytes.count % width == 0 else { return nil }
        var signs: [InboxSign] = []
        for start in stride(from: 0, to: bytes.count, by: width) {
            let word = String(decoding: bytes[start..<start + width], as: UTF8.self)
            guard let read = Base64URL.decode(word), read.count == Self.bytes else { return nil }
            signs.append(InboxSign(bits: read.reduce(0) { $0 << 8 | UInt64($1) }))
        }
        return signs
    }
}
