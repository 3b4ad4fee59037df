import Foundation

/// A file descriptor with writes that never block for long.
///
/// The descriptor's flags are not changed, because the process that started this one shares it: `O_NONBLOCK` would
/// affect that process too. Instead, a pipe or terminal is opened a second time, a socket is written with
/// `MSG_DONTWAIT`, and a file, which never blocks, is written directly.
struct LineOutput: ~Copyable, Sendable {
    private enum Way {
        case direct
        case socket
        case reopened
    }

    private let descriptor: Int32
    private let way: Way

    init(descriptor: Int32) {
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        if kind == S_IFSOCK {
            (self.descriptor, way) = (descriptor, .socket)
            return
        }
        let isPipeOrTerminal = kind == S_IFIFO || isatty(descriptor) == 1
        let own =
            isPipeOrTerminal ? open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1
        // A pipe of another user cannot be opened again. In that case, `poll` before the write keeps nearly every wait
        // short.
        (self.descriptor, way) = own >= 0 ? (own, .reopened) : (descriptor, .direct)
    }

    deinit {
        if way == .reopened { close(descriptor) }
    }

    /// Writes the bytes, waiting at most `patience` for room, and returns the number of written bytes.
    func write(_ bytes: [UInt8], patience: Duration) -> Int {
        let deadline = ContinuousClock.now.advanced(by: patience)
        return bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count, hasRoom(until: deadline) {
                let count = writeOnce(UnsafeRawBufferPointer(rebasing: buffer[written...]))
                let code = errno
                if count > 0 {
                    written += count
                } else if count == 0 || ![EINTR, EAGAIN].contains(code) || ContinuousClock.now >= deadline {
                    // Another process may have used the available room. Until the deadline, more may become available.
                    break
                }
            }
            return written
        }
    }

    private func writeOnce(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch way {
        case .direct, .reopened: Foundation.write(descriptor, bytes.baseAddress, bytes.count)
        case .socket:
            send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
    }

    private func hasRoom(until deadline: ContinuousClock.Instant) -> Bool {
        let left = max(0, (deadline - .now).microseconds / 1_000)
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // An error or a hang-up counts as room, because the write then reports the error.
        return poll(&request, 1, Int32(clamping: left)) > 0
    }
}
