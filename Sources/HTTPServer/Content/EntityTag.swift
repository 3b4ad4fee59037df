import Cryptography

/// The tag by which a client asks whether an answer has changed.
///
/// The tag is weak, because the same answer may be compressed or not.
struct EntityTag: Sendable {
    let text: String

    init(of bytes: [UInt8]) {
        text = "W/\"\(Base64URL.encode(Array(SHA256.digest(of: bytes).bytes.prefix(15))))\""
    }

    /// Returns the part of a tag that is compared.
    static func opaque(_ text: Substring) -> Substring {
        text.hasPrefix("W/") ? text.dropFirst(2) : text
    }
}
