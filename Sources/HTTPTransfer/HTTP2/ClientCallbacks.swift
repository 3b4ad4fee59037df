import CNGHTTP2

/// The table of functions by which libnghttp2 reports received data to a connection.
///
/// One table serves all connections of a loop.
final class ClientCallbacks {
    private let callbacks: OpaquePointer

    /// Creates the table; returns `nil` if memory is exhausted.
    init?() {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        self.callbacks = callbacks
        nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, beforeFrameSend)
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
        nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    }

    deinit { nghttp2_session_callbacks_del(callbacks) }

    /// Creates a client session that calls `connection`, which must outlive it; returns `nil` if memory is exhausted.
    func makeSession(for connection: PeerConnection) -> OpaquePointer? {
        var session: OpaquePointer?
        let context = Unmanaged.passUnretained(connection).toOpaque()
        guard nghttp2_session_client_new(&session, callbacks, context) == 0 else { return nil }
        return session
    }
}

/// Returns the connection of a callback's context.
private func connection(_ context: UnsafeMutableRawPointer?) -> PeerConnection? {
    context.map { Unmanaged<PeerConnection>.fromOpaque($0).takeUnretainedValue() }
}

private let beforeFrameSend: nghttp2_before_frame_send_callback = { _, frame, context in
    guard let header = frame?.pointee.hd, header.type == bellhop_frame_headers else { return 0 }
    connection(context)?.exchange(header.stream_id)?.wasSent = true
    return 0
}

private let onBeginHeaders: nghttp2_on_begin_headers_callback = { _, frame, context in
    guard let header = frame?.pointee.hd else { return 0 }
    connection(context)?.exchange(header.stream_id)?.answer.beginHead()
    return 0
}

private let onHeader: nghttp2_on_header_callback = { _, frame, name, nameLength, value, valueLength, _, context in
    guard let header = frame?.pointee.hd, let exchange = connection(context)?.exchange(header.stream_id) else {
        return 0
    }
    let isWithinBounds = exchange.answer.takeField(
        UnsafeBufferPointer(start: name, count: nameLength),
        UnsafeBufferPointer(start: value, count: valueLength)
    )
    guard !isWithinBounds else { return 0 }
    connection(context)?.refuseHead(exchange)
    return bellhop_stream_failed
}

private let onDataChunk: nghttp2_on_data_chunk_recv_callback = { _, _, stream, bytes, length, context in
    connection(context)?.receiveBody(stream, UnsafeBufferPointer(start: bytes, count: length))
    return 0
}

private let onFrame: nghttp2_on_frame_recv_callback = { _, frame, context in
    guard let header = frame?.pointee.hd, let connection = connection(context) else { return 0 }
    switch header.type {
    case bellhop_frame_headers, bellhop_frame_data:
        let ends = header.flags & bellhop_flag_end_stream != 0
        connection.endFrame(header.stream_id, isHead: header.type == bellhop_frame_headers, endsStream: ends)
    case bellhop_frame_settings where header.flags & bellhop_flag_ack == 0: connection.receiveSettings()
    case bellhop_frame_ping where header.flags & bellhop_flag_ack != 0: connection.receiveSignOfLife()
    case bellhop_frame_reset: connection.exchange(header.stream_id)?.wasReset = true
    case bellhop_frame_goaway: connection.receiveGoodbye()
    default: break
    }
    return 0
}

private let onStreamClose: nghttp2_on_stream_close_callback = { _, stream, code, context in
    connection(context)?.closeStream(stream, code: code)
    return 0
}

/// Provides libnghttp2 with the next bytes of a request's body.
///
/// The source is the exchange, which the connection retains until the stream is closed.
let readRequestBody: nghttp2_data_source_read_callback = { _, _, buffer, length, flags, source, _ in
    guard let buffer, let pointer = source?.pointee.ptr else { return ssize_t(bellhop_callback_failed) }
    let exchange = Unmanaged<HTTP2Exchange>.fromOpaque(pointer).takeUnretainedValue()
    let count = exchange.body.copy(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
    if exchange.body.isOver { flags?.pointee |= bellhop_data_end }
    return count
}
