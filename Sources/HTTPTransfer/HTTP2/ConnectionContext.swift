import TLS

/// The resources that all connections of a loop share.
///
/// Confined to the loop's thread.
final class ConnectionContext {
    let options: HTTP2TransportOptions
    let tls: TLSClientContext
    let callbacks: ClientCallbacks

    /// A buffer for one TLS record.
    let readBuffer: UnsafeMutableRawBufferPointer

    init(_ options: HTTP2TransportOptions) throws(TransferError) {
        self.options = options
        do throws(TLSError) {
            tls = try TLSClientContext(authoritiesFile: options.authoritiesFile)
        } catch {
            throw options.refusal(error.text)
        }
        guard let callbacks = ClientCallbacks() else { throw options.refusal("libnghttp2 has no memory") }
        self.callbacks = callbacks
        readBuffer = .allocate(byteCount: 16 * 1024, alignment: 16)
    }

    deinit {
        readBuffer.deallocate()
    }
}
