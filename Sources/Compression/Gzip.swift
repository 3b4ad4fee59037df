import CZlib

/// The format of RFC 1952, compressed in one step and in memory, for HTTP bodies of at most a few hundred kilobytes.
package enum Gzip {
    /// The time that a compression may take.
    package enum Effort: Int32, Sendable {
        /// The best of zlib's fast levels, which already reduces a batch of similar messages to a tenth.
        case low = 3
        /// The smallest output, for bytes that are compressed once and sent often.
        case high = 9
    }

    /// Compresses the bytes; returns `nil` if memory is exhausted.
    package static func compressed(_ bytes: [UInt8], effort: Effort = .low) -> [UInt8]? {
        var stream = z_stream()
        guard bellhop_deflate_init_gzip(&stream, effort.rawValue) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        let bound = Int(clamping: deflateBound(&stream, uLong(bytes.count)))
        let (output, status) = run(&stream, bytes, atMost: bound) { deflate(&$0, Z_FINISH) }
        return status == Z_STREAM_END ? output : nil
    }

    /// Decompresses the bytes; returns `nil` if they are not exactly one complete gzip stream, or expand beyond `limit`
    /// bytes.
    ///
    /// A few bytes can represent a large number of bytes. The output never uses more memory than `limit`.
    package static func expanded(_ bytes: [UInt8], atMost limit: Int) -> [UInt8]? {
        var stream = z_stream()
        guard bellhop_inflate_init_gzip(&stream) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        let (output, status) = run(&stream, bytes, atMost: limit) { inflate(&$0, Z_FINISH) }
        return status == Z_STREAM_END && stream.avail_in == 0 ? output : nil
    }

    private static func run(
        _ stream: inout z_stream,
        _ bytes: [UInt8],
        atMost limit: Int,
        _ step: (inout z_stream) -> Int32
    ) -> (output: [UInt8], status: Int32) {
        var status = Z_BUF_ERROR
        guard let count = uInt(exactly: bytes.count), let room = uInt(exactly: max(1, limit)) else {
            return ([], status)
        }
        var input = bytes
        let output = [UInt8](unsafeUninitializedCapacity: Int(room)) { output, written in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = count
                stream.next_out = output.baseAddress
                stream.avail_out = room
                status = step(&stream)
                written = Int(room - stream.avail_out)
            }
        }
        return (output, status)
    }
}
