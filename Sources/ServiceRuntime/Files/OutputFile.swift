import Glibc

/// A file that is written in one operation: afterwards it is complete and on the disk, or absent.
package enum OutputFile {
    /// The treatment of an existing file of the same name.
    package enum ExistingFilePolicy: Sendable {
        /// The existing file is replaced when the new one is complete, so that no program reads half of it.
        case replaced
        /// The existing file is kept and nothing is written; this includes a link of that name with any target.
        case kept
    }

    /// The reason why there is no new file.
    package struct Failure: Error, Sendable, Equatable {
        /// The text of the system.
        package let reason: String

        /// The system's most recent error.
        static var latest: Failure {
            Failure(reason: errno == EEXIST ? "the file already exists" : String(cString: strerror(errno)))
        }
    }

    /// Writes a file.
    ///
    /// `mode` sets its permissions, such as `0o600`, before the first byte is written.
    package static func write(
        _ bytes: [UInt8],
        to path: String,
        mode: UInt32,
        predecessor: ExistingFilePolicy
    ) throws(Failure) {
        let file = predecessor == .replaced ? try NewFile(beside: path) : try NewFile(path: path)
        do throws(Failure) {
            try file.allow(mode)
            try file.write(bytes)
            try file.synchronize()
            if predecessor == .replaced { try file.rename(to: path, predecessor: .replaced) }
        } catch {
            file.remove()
            throw error
        }
    }
}

/// A new file that is open for writing and is closed with its last reference.
///
/// One call creates it with its permissions, and never through a link. No other process can have put another file under
/// its name, or have opened it before its permissions were set.
package final class NewFile: Sendable {
    package let path: String
    private let descriptor: Int32

    /// Creates the file for its owner only, and fails if the name exists.
    package init(path: String) throws(OutputFile.Failure) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .latest }
    }

    /// Creates a file next to `path`, under a name that cannot be guessed and that no earlier process has left behind.
    package convenience init(beside path: String) throws(OutputFile.Failure) {
        try self.init(path: "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new")
    }

    deinit { close(descriptor) }

    /// Sets the permissions of the file.
    package func allow(_ mode: UInt32) throws(OutputFile.Failure) {
        guard fchmod(descriptor, mode) == 0 else { throw .latest }
    }

    /// Appends all of the bytes.
    package func write(_ bytes: [UInt8]) throws(OutputFile.Failure) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            guard count > 0 || (count < 0 && errno == EINTR) else { throw .latest }
            written += max(0, count)
        }
    }

    /// Returns after all data has been written to the disk.
    package func synchronize() throws(OutputFile.Failure) {
        guard fsync(descriptor) == 0 else { throw .latest }
    }

    /// Gives the file its name.
    ///
    /// An existing file of that name is replaced or kept, as `predecessor` specifies.
    package func rename(to name: String, predecessor: OutputFile.ExistingFilePolicy) throws(OutputFile.Failure) {
        if predecessor == .kept {
            // Unlike a rename, a link never replaces another file.
            if link(path, name) == 0 { return remove() }
            // Some file systems support only one name per file.
            guard [EPERM, ENOSYS, EOPNOTSUPP].contains(errno), access(name, F_OK) != 0 else { throw .latest }
        }
        guard Glibc.rename(path, name) == 0 else { throw .latest }
    }

    /// Deletes the file.
    package func remove() { unlink(path) }
}
