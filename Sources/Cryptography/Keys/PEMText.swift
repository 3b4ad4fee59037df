import COpenSSL

/// Hands PEM to OpenSSL's readers, which want a stream.
enum PEMText {
    /// What `read` makes of `bytes`, which the stream only borrows; nil where nothing comes of it.
    static func read(_ bytes: [UInt8], with read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        bytes.withUnsafeBytes { bytes in
            guard let length = CInt(exactly: bytes.count), let stream = BIO_new_mem_buf(bytes.baseAddress, length)
            else {
                return nil
            }
            defer { BIO_free(stream) }
            return read(stream)
        }
    }
}
