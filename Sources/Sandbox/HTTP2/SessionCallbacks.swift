import CNGHTTP2

/// The table of functions by which libnghttp2 reports received data to a connection.
///
/// One table serves all connections of a loop.
final class SessionCallbacks {
    private let callbacks: OpaquePointer
    private let option: OpaquePointer

    /// Creates the table; without `readsContent`, the callbacks that collect headers and bodies are omitted.
    init(readsContent: Bool) throws(SandboxError) {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&option) == 0,
            let callbacks, let option
        else { throw SandboxError(.resources, attempted: "preparing HTTP/2", cameBack: "libnghttp2 is out of memory") }
        self.callbacks = callbacks
        self.option = option
        // Closed streams serve only priorities, which no provider uses.
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
        guard readsContent else { return }
        nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
    }

    deinit {
        nghttp2_session_callbacks_del(callbacks)
        nghttp2_option_del(option)
    }

    /// Creates a server session that calls `connection`, which must outlive it; returns `nil` if memory is exhausted.
    func makeSession(for connection: ServerConnection) -> OpaquePointer? {
        var session: OpaquePointer?
        let context = Unmanaged.passUnretained(connection).toOpaque()
        guard nghttp2_session_server_new2(&session, callbacks, context, option) == 0 else { return nil }
        return session
    }
}

/// Returns the connection of a callback's context.
private func connection(_ context: UnsafeMutableRawPointer?) -> ServerConnection? {
    context.map { Unmanaged<ServerConnection>.fromOpaque($0).takeUnretainedValue() }
}

private let onBeginHeaders: nghttp2_on_begin_headers_callback = { _, frame, context in
    guard let frame, bellhop_opens_request(frame) == 1 else { return 0 }
    connection(context)?.beginRequest(frame.pointee.hd.stream_id)
    return 0
}

private let onHeader: nghttp2_on_header_callback = { _, frame, name, nameLength, value, valueLength, _, context in
    guard let frame, bellhop_opens_request(frame) == 1 else { return 0 }
    connection(context)?.receiveField(
        frame.pointee.hd.stream_id,
        name: UnsafeBufferPointer(start: name, count: nameLength),
        value: UnsafeBufferPointer(start: value, count: valueLength)
    )
    return 0
}

private let onDataChunk: nghttp2_on_data_chunk_recv_callback = { _, _, stream, bytes, length, context in
    connection(context)?.receiveBody(stream, UnsafeBufferPointer(start: bytes, count: length))
    return 0
}

private let onFrame: nghttp2_on_frame_recv_callback = { _, frame, context in
    guard let header = frame?.pointee.hd, header.flags & bellhop_flag_end_stream != 0 else { return 0 }
    guard header.type == bellhop_frame_headers || header.type == bellhop_frame_data else { return 0 }
    connection(context)?.endRequest(header.stream_id)
    return 0
}

private let onStreamClose: nghttp2_on_stream_close_callback = { _, stream, _, context in
    connection(context)?.closeStream(stream)
    return 0
}

/// Provides libnghttp2 with the next bytes of an answer's body.
///
/// The source is the stream, which the connection retains until the stream is closed.
let readAnswerBody: nghttp2_data_source_read_callback = { _, _, buffer, length, flags, source, _ in
    guard let buffer, let pointer = source?.pointee.ptr else { return ssize_t(bellhop_callback_failed) }
    let stream = Unmanaged<ServerStream>.fromOpaque(pointer).takeUnretainedValue()
    guard let count = stream.copyBody(into: UnsafeMutableBufferPointer(start: buffer, count: length)) else {
        return ssize_t(bellhop_deferred)
    }
    if stream.isBodySent { flags?.pointee |= bellhop_data_end }
    return count
}
