import Glibc
import ServiceRuntime
import TLS

/// One client's connection, read line by line on a dedicated thread.
///
/// It is encrypted from the start or from STARTTLS on.
final class MailConnection {
    enum Line: Equatable {
        /// A line without its line end.
        case text([UInt8])
        /// A line that exceeded its limit and was discarded.
        case tooLong
        /// A line that contained a single CR or LF.
        case brokenEnd
    }

    private let socket: Int32
    private var tls: TLSConnection?
    private var inbox: [UInt8] = []

    /// The idle time, in milliseconds, after which a client is considered gone.
    private static let patience: Int32 = 300_000

    init(socket: Int32) { self.socket = socket }

    var isSecure: Bool { tls != nil }

    /// Whether the client has sent more than was requested.
    var hasUnread: Bool { !inbox.isEmpty }

    /// Performs the TLS handshake; returns false if it fails.
    func secure(_ context: TLSServerContext) -> Bool {
        guard let connection = context.makeConnection(over: socket) else { return false }
        while true {
            switch connection.handshake() {
            case .done:
                tls = connection
                return true
            case .needsReading: guard wait(POLLIN) else { return false }
            case .needsWriting: guard wait(POLLOUT) else { return false }
            case .ended: return false
            }
        }
    }

    /// Returns the next line; `nil` if the connection has ended.
    ///
    /// `limit` includes the line end.
    func readLine(limit: Int) -> Line? {
        var searched = 0
        while true {
            if let end = inbox[searched...].firstIndex(of: 0x0A) {
                let line = Array(inbox[..<end])
                inbox.removeFirst(end + 1)
                guard end + 1 <= limit else { return .tooLong }
                guard line.last == 0x0D, !line.dropLast().contains(0x0D) else { return .brokenEnd }
                return .text(Array(line.dropLast()))
            }
            // Input that exceeds the limit by far is not collected.
            if inbox.count > 1 << 20 { inbox.removeFirst(1 << 19) }
            searched = inbox.count
            guard fill() else { return nil }
        }
    }

    /// Writes all of `bytes`, with a pause between single bytes if there is a `drip`; returns false if the client has
    /// left.
    func write(_ bytes: [UInt8], drip: Duration?) -> Bool {
        guard let drip else { return write(bytes[...]) }
        for index in bytes.indices {
            guard write(bytes[index...index]), pause(drip) else { return false }
        }
        return true
    }

    /// Waits; returns false if the connection ends during the wait.
    func pause(_ duration: Duration) -> Bool {
        guard duration > .zero else { return true }
        var watched = pollfd(fd: socket, events: 0, revents: 0)
        return poll(&watched, 1, Int32(clamping: (duration.microseconds + 999) / 1_000)) == 0
    }

    func sayGoodbye() { tls?.sayGoodbye() }

    private func write(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            switch rest.withUnsafeBytes(writeSome) {
            case .done(let count): rest = rest.dropFirst(count)
            case .needsReading: guard wait(POLLIN) else { return false }
            case .needsWriting: guard wait(POLLOUT) else { return false }
            case .ended: return false
            }
        }
        return true
    }

    private func writeSome(_ bytes: UnsafeRawBufferPointer) -> TLSConnection.Progress {
        if let tls { return tls.write(bytes) }
        let count = send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        if count >= 0 { return .done(count) }
        return errno == EAGAIN ? .needsWriting : .ended
    }

    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 16 * 1_024)
        while true {
            switch chunk.withUnsafeMutableBytes(readSome) {
            case .done(0), .ended: return false
            case .done(let count):
                inbox += chunk[..<count]
                return true
            case .needsReading: guard wait(POLLIN) else { return false }
            case .needsWriting: guard wait(POLLOUT) else { return false }
            }
        }
    }

    private func readSome(_ room: UnsafeMutableRawBufferPointer) -> TLSConnection.Progress {
        if let tls { return tls.read(into: room) }
        let count = recv(socket, room.baseAddress, room.count, 0)
        if count >= 0 { return .done(count) }
        return errno == EAGAIN || errno == EINTR ? .needsReading : .ended
    }

    private func wait(_ events: Int32) -> Bool {
        var watched = pollfd(fd: socket, events: Int16(events), revents: 0)
        let result = poll(&watched, 1, Self.patience)
        return result > 0 || (result < 0 && errno == EINTR)
    }
}
