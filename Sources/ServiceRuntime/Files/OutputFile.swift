import Glibc

/// A file that is written in one go: it is there whole and on the disk, or not at all.
package enum OutputFile {
    /// What becomes of a file that has the name already.
    package enum Predecessor: Sendable {
        /// It gives way at the moment the new one is whole, so that nobody who waits for the file reads half of it.
        case replaced
        /// It stays, and nothing is written; so does a link of that name, wherever it leads.
        case kept
    }

    /// Why there is no new file.
    package struct Failure: Error, Sendable, Equatable {
        /// In the words of the system.
        package let reason: String
    }

    /// Writes a file; `mode` says who may use it, such as `0o600`, before the first byte is in it.
    package static func write(
        _ bytes: [UInt8],
        to path: String,
        mode: UInt32,
        predecessor: Predecessor
    ) throws(Failure) {
        let draft = predecessor == .replaced ? "\(path).\(getpid()).new" : path
        let ifThere = predecessor == .replaced ? O_TRUNC : O_EXCL
        let file = open(draft, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | ifThere, mode)
        guard file >= 0 else { throw latest }
        do throws(Failure) {
            try fill(file, with: bytes)
            if draft != path, rename(draft, path) != 0 { throw latest }
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Closes the file, too, whatever happens.
    private static func fill(_ file: Int32, with bytes: [UInt8]) throws(Failure) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { rest in
                Glibc.write(file, rest.baseAddress?.advanced(by: written), rest.count - written)
            }
            guard count > 0 || errno == EINTR else { break }
            written += max(0, count)
        }
        let failure = written == bytes.count && fsync(file) == 0 ? nil : latest
        let isClosed = close(file) == 0
        if let failure { throw failure }
        if !isClosed { throw latest }
    }

    /// What the system said last.
    private static var latest: Failure {
        Failure(reason: errno == EEXIST ? "it is there already" : String(cString: strerror(errno)))
    }
}
