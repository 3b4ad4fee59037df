package import TLS

/// One end of an HTTP/2 connection, for single frames over a blocking socket.
///
/// Confined to the caller's thread.
package final class FrameChannel {
    private let tls: TLSConnection
    private var buffer: [UInt8] = []

    /// Creates a channel over `tls`; the caller must close the socket.
    package init(_ tls: TLSConnection) {
        self.tls = tls
    }

    /// Performs the handshake; returns `false` if it fails.
    package func shakeHands() -> Bool {
        tls.handshake() == .done(0)
    }

    /// Reads a client's preface; returns `false` if the client disconnects before.
    package func takePreface() -> Bool {
        guard fill(Frame.preface.count) else { return false }
        buffer.removeFirst(Frame.preface.count)
        return true
    }

    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let rest = bytes[sent...]
            guard case .done(let count) = rest.withUnsafeBytes({ tls.write($0) }) else { return false }
            sent += count
        }
        return true
    }

    /// Returns the next frame of any kind; `nil` at the end.
    package func next() -> Frame? {
        guard fill(9) else { return nil }
        let length = buffer[0..<3].reduce(0) { $0 << 8 | Int($1) }
        guard fill(9 + length) else { return nil }
        defer { buffer.removeFirst(9 + length) }
        return Frame(
            kind: Frame.Kind(rawValue: buffer[3]),
            flags: buffer[4],
            stream: buffer[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) },
            payload: Array(buffer[9..<9 + length])
        )
    }

    private func fill(_ count: Int) -> Bool {
        while buffer.count < count {
            var piece = [UInt8](repeating: 0, count: 16_384)
            guard case .done(let length) = piece.withUnsafeMutableBytes({ tls.read(into: $0) }) else { return false }
            buffer += piece.prefix(length)
        }
        return true
    }
}
