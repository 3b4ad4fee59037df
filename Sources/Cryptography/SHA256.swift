import COpenSSL

/// SHA-256 of bytes in one piece.
package enum SHA256 {
    /// Returns the digest of `bytes`.
    package static func digest(of bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes(digest) }

    /// Returns the digest of `bytes`, which are read only during the call.
    package static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { result in
            bellhop_sha256(bytes.baseAddress, bytes.count, result.bindMemory(to: UInt8.self).baseAddress)
            return Digest(UnsafeRawBufferPointer(result))
        }
    }
}

/// SHA-256 of bytes in several pieces, for data that is never completely in memory.
///
/// Confined to the code that created it.
package final class SHA256Stream {
    private let context: OpaquePointer

    package init() {
        // As for a digest in one piece: if OpenSSL has no SHA-256, the process must stop and not return invented
        // digests.
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("OpenSSL cannot compute a SHA-256: \(OpenSSLErrors.drain())")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds the next bytes, which are read only during the call.
    package func add(_ bytes: UnsafeRawBufferPointer) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
            preconditionFailure("OpenSSL cannot compute a SHA-256: \(OpenSSLErrors.drain())")
        }
    }

    /// Returns the digest of all added bytes, and resets the stream.
    package func finish() -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { result in
            let output = result.bindMemory(to: UInt8.self).baseAddress
            guard EVP_DigestFinal_ex(context, output, nil) == 1, EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
            else {
                preconditionFailure("OpenSSL cannot compute a SHA-256: \(OpenSSLErrors.drain())")
            }
            return Digest(UnsafeRawBufferPointer(result))
        }
    }
}

/// The 32 bytes of a SHA-256 digest, stored in four words so that a digest needs no allocation and hashes fast as a
/// key.
package struct Digest: Hashable, Sendable {
    /// The number of bytes in a digest.
    package static let byteCount = 32

    /// Bytes 0 to 7, 8 to 15, 16 to 23 and 24 to 31, each as a big-endian number.
    private let words: SIMD4<UInt64>

    /// Takes the first 32 bytes of `bytes`; missing bytes count as zero.
    init(_ bytes: UnsafeRawBufferPointer) {
        var words = SIMD4<UInt64>()
        withUnsafeMutableBytes(of: &words) { words in
            words.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(words.count)))
        }
        for index in words.indices { words[index] = UInt64(bigEndian: words[index]) }
        self.words = words
    }

    /// The first 16 bytes.
    package var half: HalfDigest { HalfDigest(words[0], words[1]) }

    /// The first eight bytes as a big-endian number.
    package var leadingBits: UInt64 { words[0] }

    /// All 32 bytes in order.
    package var bytes: [UInt8] { prefix(Self.byteCount) }

    /// Returns the first `count` bytes (0 to 32, clamped).
    package func prefix(_ count: Int) -> [UInt8] {
        var words = words
        for index in words.indices { words[index] = words[index].bigEndian }
        return withUnsafeBytes(of: words) { [UInt8]($0.prefix(max(count, 0))) }
    }

    /// Returns the first `bytes` bytes (0 to 32, clamped) in lower-case hex, two digits each.
    package func hexPrefix(bytes: Int) -> String {
        let count = min(max(bytes, 0), Self.byteCount)
        return String(unsafeUninitializedCapacity: 2 * count) { digits in
            for index in 0..<count {
                let byte = byte(at: index)
                digits[2 * index] = Self.digit(byte >> 4)
                digits[2 * index + 1] = Self.digit(byte & 15)
            }
            return 2 * count
        }
    }

    private func byte(at index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: words[index >> 3] >> (56 - 8 * UInt64(index & 7)))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension Digest: CustomStringConvertible {
    /// All 64 hex digits.
    package var description: String { hexPrefix(bytes: Self.byteCount) }
}

/// The first 16 bytes of a digest, in two words for the same reason.
package struct HalfDigest: Hashable, Sendable {
    /// The bytes as they are in memory.
    package let words: SIMD2<UInt64>

    fileprivate init(_ first: UInt64, _ second: UInt64) { words = SIMD2(first.bigEndian, second.bigEndian) }

    package init(words: SIMD2<UInt64>) { self.words = words }

    /// Takes the first 16 bytes of `bytes`; missing bytes count as zero.
    package init(stored bytes: [UInt8]) {
        var words = SIMD2<UInt64>()
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes.prefix($0.count)) }
        self.words = words
    }

    /// All 16 bytes in order.
    package var bytes: [UInt8] { withBytes { [UInt8]($0) } }

    /// Runs `body` on the bytes.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: words, body)
    }
}
