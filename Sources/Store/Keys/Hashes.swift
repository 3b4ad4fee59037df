package import BellhopRules
import Cryptography

/// A hash of an event's content, in 16 bytes.
///
/// The same event id with a different hash is an `id-conflict`.
package struct ContentHash: Sendable, Hashable {
    let half: HalfDigest

    package init(of event: Event) {
        self = event.withContentBytes(Self.init(ofContent:))
    }

    /// Creates the hash of an event's content, from the bytes of its identity.
    package init(ofContent bytes: UnsafeBufferPointer<UInt8>) {
        half = SHA256.digest(of: UnsafeRawBufferPointer(bytes)).half
    }

    /// Creates the hash of a plain event's content.
    init(_ words: PlainNotification.Hash) { half = HalfDigest(words: words) }

    /// The hash as two words.
    package var words: PlainNotification.Hash { half.words }

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
        let room = second.utf8.count + third.utf8.count + 1 + (fourth.map { $0.utf8.count + 1 } ?? 0)
        return digest(of: first, room: room) { joined in
            joined.append(second)
            joined.append(third)
            if let fourth { joined.append(fourth) }
        }
    }

    /// Returns the digest of three texts, of which one is not a string.
    static func digest(joining first: String, _ second: UnsafeBufferPointer<UInt8>, _ third: String) -> Digest {
        digest(of: first, room: second.count + third.utf8.count + 1) { joined in
            joined.append(second)
            joined.append(third)
        }
    }

    /// Returns the digest of a text and of the texts that `body` appends, which take up to `room` bytes.
    @inline(__always)
    private static func digest(of first: String, room: Int, _ body: (inout JoinedTexts) -> Void) -> Digest {
        withUnsafeTemporaryAllocation(byteCount: first.utf8.count + 1 + room, alignment: 1) { memory in
            var joined = JoinedTexts(memory: memory)
            joined.append(first)
            body(&joined)
            return digest(of: UnsafeRawBufferPointer(rebasing: memory[..<joined.end]))
        }
    }
}

/// Texts in one piece of memory, with a NUL between them.
private struct JoinedTexts {
    let memory: UnsafeMutableRawBufferPointer
    private(set) var end = 0

    mutating func append(_ text: String) { text.withBytes { append($0) } }

    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        if end > 0 {
            memory[end] = 0
            end += 1
        }
        UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyBytes(from: text)
        end += text.count
    }
}
