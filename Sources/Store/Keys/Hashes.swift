package import BellhopRules
import Cryptography

/// A hash of an event's content, in 16 bytes.
///
/// The same event id with a different hash is an `id-conflict`.
package struct ContentHash: Sendable, Hashable {
    let half: HalfDigest

    package init(of event: Event) {
        half = event.withContentBytes { SHA256.digest(of: UnsafeRawBufferPointer($0)).half }
    }

    /// Creates a hash from its stored bytes.
    init(stored bytes: [UInt8]) { half = HalfDigest(stored: bytes) }

    package var bytes: [UInt8] { half.bytes }
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
    let half: HalfDigest

    package var bytes: [UInt8] { half.bytes }

    /// The hash as text, for lists of texts.
    var hex: String { bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined() }

    package static func recipient(_ app: AppID, _ user: UserID) -> IdentityHash {
        IdentityHash(half: SHA256.digest(joining: "recipient", app.text, user.text).half)
    }

    package static func subscription(_ app: AppID, _ user: UserID, token: String) -> IdentityHash {
        IdentityHash(half: SHA256.digest(joining: "subscription", app.text, user.text, token).half)
    }
}

extension SHA256 {
    /// Returns the digest of texts with a NUL between them, which no text contains.
    static func digest(joining first: String, _ second: String, _ third: String, _ fourth: String? = nil) -> Digest {
        let texts = first.utf8.count + second.utf8.count + third.utf8.count + (fourth?.utf8.count ?? 0)
        return withUnsafeTemporaryAllocation(byteCount: texts + 3, alignment: 1) { memory in
            var end = 0
            func append(_ text: String) {
                if end > 0 {
                    memory[end] = 0
                    end += 1
                }
                text.withBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyBytes(from: bytes)
                    end += bytes.count
                }
            }
            append(first)
            append(second)
            append(third)
            if let fourth { append(fourth) }
            return digest(of: UnsafeRawBufferPointer(rebasing: memory[..<end]))
        }
    }
}
