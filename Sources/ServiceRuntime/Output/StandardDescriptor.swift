import Foundation

/// The system's side of stdin, stdout and stderr.
package enum StandardDescriptor {
    /// Opens what of the three was handed over closed, as nothing; to be called before anything else is opened.
    ///
    /// Otherwise the first socket takes the free number, and what is printed goes to the database's server.
    package static func holdAll() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one, since those below it are open by now.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Everything of stdin; nil where it cannot be read, such as a folder.
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

    /// Writes all of it, however long a reader takes; 0, or the number of the error that ended it.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                let code = errno
                switch count {
                case 0...: rest = rest.dropFirst(count)
                case _ where code == EINTR: continue
                // Somebody who shares the stream has made it one that does not wait.
                case _ where code == EAGAIN: wait(for: Int16(POLLOUT), of: descriptor)
                default: return code
                }
            }
            return 0
        }
    }

    /// How large the terminal is; nil where it is none, or does not know.
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
