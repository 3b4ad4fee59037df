import CZlib

/// The format of RFC 1952, in one go and in memory: for bodies of HTTP that are a few hundred kilobytes at most.
package enum Gzip {
    /// Nil where memory is out.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard bellhop_deflate_init_gzip(&stream, level) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        let bound = Int(clamping: deflateBound(&stream, uLong(bytes.count)))
        let (output, status) = run(&stream, bytes, atMost: bound) { deflate(&$0, Z_FINISH) }
        return status == Z_STREAM_END ? output : nil
    }

    /// Nil where the bytes are not one whole gzip stream and nothing else, or make more than `limit` bytes.
    ///
    /// A few bytes can stand for very many: no more memory than `limit` is taken, whatever they claim.
    package static func expanded(_ bytes: [UInt8], atMost limit: Int) -> [UInt8]? {
        var stream = z_stream()
        guard bellhop_inflate_init_gzip(&stream) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        let (output, status) = run(&stream, bytes, atMost: limit) { inflate(&$0, Z_FINISH) }
        return status == Z_STREAM_END && stream.avail_in == 0 ? output : nil
    }

    /// The best of zlib's quick levels: a batch of like messages shrinks to a tenth already.
    private static let level: Int32 = 3

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
