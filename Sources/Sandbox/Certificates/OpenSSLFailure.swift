import COpenSSL

extension SandboxError {
    /// A failure of OpenSSL with everything that the thread's error queue had to say; empties the queue.
    static func openSSL(_ attempted: String) -> SandboxError {
        var entries: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            var text = [CChar](repeating: 0, count: 256)
            ERR_error_string_n(code, &text, text.count)
            entries.append(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
        }
        let cameBack = entries.isEmpty ? "OpenSSL gave no reason" : entries.joined(separator: "; ")
        return SandboxError(.cryptography, attempted: attempted, cameBack: cameBack)
    }
}

/// Text that OpenSSL writes.
enum PEMOutput {
    /// What `write` wrote; 1 is its sign of success.
    static func collect(
        _ attempted: String,
        _ write: (OpaquePointer) -> Int32
    ) throws(SandboxError) -> String {
        guard let output = BIO_new(BIO_s_mem()) else { throw .openSSL(attempted) }
        defer { BIO_free(output) }
        guard write(output) == 1 else { throw .openSSL(attempted) }
        var start: UnsafeMutablePointer<CChar>?
        let length = bellhop_bio_contents(output, &start)
        guard length > 0, let start else { throw .openSSL(attempted) }
        return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    }
}
