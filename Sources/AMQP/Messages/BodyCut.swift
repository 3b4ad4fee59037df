package import Cryptography

/// How large a body may be to travel whole.
package enum BodyLimits {
    /// What RabbitMQ 4 takes unless it is told otherwise (3.x takes 128 MiB): a larger one could not be published again.
    package static let whole = 16 << 20
    /// What is kept of one that is larger.
    package static let kept = 256 << 10
}

/// What is known of a body of which only the beginning is left: its size, and the digest of all of it, by which whoever
/// has the original can tell that it is this one.
package struct BodyCut: Sendable, Equatable {
    package let bytes: Int
    package let sha256: Digest

    package init(bytes: Int, sha256: Digest) {
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// Of a body that is at hand.
    package init(of body: [UInt8]) {
        self.init(bytes: body.count, sha256: SHA256.digest(of: body))
    }
}

/// Reads past a body that is too large to be kept: its beginning stays, the rest is counted and hashed as it goes by.
struct BodySkim {
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

    func finish() -> BodyCut {
        BodyCut(bytes: bytes, sha256: digest.finish())
    }
}
