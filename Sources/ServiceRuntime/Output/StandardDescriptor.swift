import Foundation

/// System calls for stdin, stdout and stderr.
package enum StandardDescriptor {
    /// Opens /dev/null for each of the three descriptors that is closed.
    ///
    /// It must be called before anything else is opened.
    ///
    /// Otherwise the first socket would take the free number, and printed text would go to the database's server.
    package static func holdAll() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one, because all lower ones are open by now.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Returns everything on stdin; `nil` if it cannot be read, such as a folder.
    package static func readInput() -> [UInt8]? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(STDIN_FILENO, &piece, piece.count)
            switch count {
            case 0: return bytes
            case 1...: bytes += piece[..<count]
            case _ where errno == EINTR: continue
            case _ where errno == EAGAIN: wait(for: Int16(POLLIN), of: STDIN_FILENO)
            default: return nil
            }
        }
    }

    /// Writes all bytes, regardless of the reader's speed.
    ///
    /// Returns 0, or the number of the error that ended it.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                let code = errno
                switch count {
                case 0...: rest = rest.dropFirst(count)
                case _ where code == EINTR: continue
                // Another process that shares the stream has made it non-blocking.
                case _ where code == EAGAIN: wait(for: Int16(POLLOUT), of: descriptor)
                default: return code
                }
            }
            return 0
        }
    }

    /// Returns the size of the terminal; `nil` if there is no terminal or its size is unknown.
    static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private static func wait(for events: Int16, of descriptor: Int32) {
        var request = pollfd(fd: descriptor, events: events, revents: 0)
        _ = poll(&request, 1, -1)
    }
}
