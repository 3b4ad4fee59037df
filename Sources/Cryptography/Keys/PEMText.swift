import COpenSSL

/// Passes PEM to OpenSSL's readers, which require a stream.
enum PEMText {
    /// Returns the result of `read` for `bytes`, which the stream only borrows; `nil` if it fails.
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
