package import Cryptography

/// Size limits for bodies.
package enum BodyLimits {
    /// The default limit of RabbitMQ 4 (3.x: 128 MiB), above which a body could not be published again.
    package static let whole = 16 << 20
    /// The number of bytes that are kept of a larger body.
    package static let kept = 256 << 10
}

/// Facts about a body of which only the beginning was kept: its size and the digest of the whole body.
///
/// The digest identifies the original.
package struct BodyTruncation: Sendable, Equatable {
    package let bytes: Int
    package let sha256: Digest

    package init(bytes: Int, sha256: Digest) {
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// Describes a complete body.
    package init(of body: [UInt8]) {
        self.init(bytes: body.count, sha256: SHA256.digest(of: body))
    }
}

/// Reads a body that is too large to be kept: it keeps the beginning, and counts and hashes the rest.
struct OversizedBodyReader {
    private let digest = SHA256Stream()
    private let kept: Int
    private var bytes = 0

    init(keeping kept: Int) {
        self.kept = kept
    }

    mutating func take(_ fragment: UnsafeRawBufferPointer, into body: inout [UInt8]) {
        digest.add(fragment)
        bytes += fragment.count
        body.append(contentsOf: fragment.prefix(max(0, kept - body.count)))
    }

    func finish() -> BodyTruncation {
        BodyTruncation(bytes: bytes, sha256: digest.finish())
    }
}
