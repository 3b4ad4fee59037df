import CMicroHTTPD

/// A connection of libmicrohttpd while it is suspended or inside a callback.
///
/// Thread safety: the pointer is only stored. A suspended connection may be resumed from any thread, and every other
/// use happens inside a callback on libmicrohttpd's thread.
struct ClientConnection: @unchecked Sendable {
    let pointer: OpaquePointer

    /// A key for tables.
    var identity: UInt { UInt(bitPattern: pointer) }

    /// Suspends the connection; only inside a callback.
    func suspend() { MHD_suspend_connection(pointer) }

    /// Resumes the connection, exactly once for every suspension.
    func resume() { MHD_resume_connection(pointer) }

    /// Returns all header fields; `nil` if a line of the head is malformed.
    ///
    /// Only inside a callback.
    func headers() -> HTTPHeaders? {
        var lines = FieldLines()
        withUnsafeMutablePointer(to: &lines) { lines in
            _ = MHD_get_connection_values_n(
                pointer,
                bellhop_header_kind,
                { context, _, name, nameSize, value, valueSize in
                    guard let context, let name else { return bellhop_yes }
                    context.assumingMemoryBound(to: FieldLines.self).pointee.add(
                        UnsafeRawBufferPointer(start: name, count: nameSize),
                        UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueSize)
                    )
                    return bellhop_yes
                },
                lines
            )
        }
        return lines.areWellFormed ? lines.headers : nil
    }

    /// Returns the address of the other end; only inside a callback.
    func peer() -> PeerAddress? { PeerAddress(of: bellhop_connection_socket(pointer)) }

    /// Passes the answer to libmicrohttpd; returns false if it rejects the answer, and then the connection must be
    /// closed.
    func queue(_ response: HTTPResponse, stream: StreamBody?) -> Bool {
        guard let handle = Self.makeResponse(response, stream) else { return false }
        defer { MHD_destroy_response(handle) }
        for field in response.headers.fields
        where MHD_add_response_header(handle, field.name, field.value) != bellhop_yes {
            // A line break in a value, or an invalid name: an error in this program, and the response must not be sent
            // in part.
            return false
        }
        guard let status = UInt32(exactly: response.status) else { return false }
        return MHD_queue_response(pointer, status, handle) == bellhop_yes
    }

    private static func makeResponse(_ response: HTTPResponse, _ stream: StreamBody?) -> OpaquePointer? {
        if let stream { return stream.makeResponse() }
        guard case .bytes(var bytes) = response.body else { return nil }
        return bytes.withUnsafeMutableBytes { buffer in
            MHD_create_response_from_buffer(buffer.count, buffer.baseAddress, bellhop_must_copy)
        }
    }
}
