import Glibc
import ServiceRuntime
import TLS

/// One client's connection, read line by line on a thread of its own; encrypted from the start or from STARTTLS on.
final class MailLink {
    enum Line: Equatable {
        /// Without its line end.
        case text([UInt8])
        /// It was longer than it may be, and is thrown away.
        case tooLong
        /// It had a CR or an LF that stood alone.
        case brokenEnd
    }

    private let socket: Int32
    private var tls: TLSConnection?
    private var inbox: [UInt8] = []

    /// A client that says nothing for so long has gone.
    private static let patience: Int32 = 300_000

    init(socket: Int32) {
        self.socket = socket
    }

    var isSecure: Bool { tls != nil }

    /// Whether the client has said more than was asked for.
    var hasUnread: Bool { !inbox.isEmpty }

    /// Shakes hands; false where nothing comes of it.
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

    /// The next line; nil where the connection is over.
    ///
    /// `limit` counts the line end, too.
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
            // What is too long by far is not collected.
            if inbox.count > 1 << 20 { inbox.removeFirst(1 << 19) }
            searched = inbox.count
            guard fill() else { return nil }
        }
    }

    /// Writes all of `bytes`, one by one with a pause between them where there is a `drip`; false where the client left.
    func write(_ bytes: [UInt8], drip: Duration?) -> Bool {
        guard let drip else { return write(bytes[...]) }
        for index in bytes.indices {
            guard write(bytes[index...index]), pause(drip) else { return false }
        }
        return true
    }

    /// Waits; false where the connection ends meanwhile.
    func pause(_ duration: Duration) -> Bool {
        guard duration > .zero else { return true }
        var watched = pollfd(fd: socket, events: 0, revents: 0)
        return poll(&watched, 1, Int32(clamping: (duration.microseconds + 999) / 1_000)) == 0
    }

    func sayGoodbye() {
        tls?.sayGoodbye()
    }

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
