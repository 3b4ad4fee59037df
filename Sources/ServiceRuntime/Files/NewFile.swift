import Glibc

/// A file that was not there before, open for writing; closes with its last reference.
///
/// Made with its rights by the one call that opens it, and never through a link: nobody can have put something else under
/// its name, or have opened it before its rights were set.
package final class NewFile: Sendable {
    package let path: String
    private let descriptor: Int32

    /// Makes the file for its owner alone, and fails where anything has the name.
    package init(path: String) throws(OutputFile.Failure) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .latest }
    }

    /// Makes a file beside `path`, under a name that nobody can guess and that no earlier process has left there.
    package convenience init(beside path: String) throws(OutputFile.Failure) {
        try self.init(path: "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new")
    }

    deinit {
        close(descriptor)
    }

    /// Says who else may use it.
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

    /// Returns once everything is on the disk.
    package func synchronize() throws(OutputFile.Failure) {
        guard fsync(descriptor) == 0 else { throw .latest }
    }

    /// Gives it its name; what has that name gives way, or keeps it.
    package func rename(to name: String, predecessor: OutputFile.Predecessor) throws(OutputFile.Failure) {
        if predecessor == .kept {
            // Unlike a new name, a second name never takes another file's place.
            if link(path, name) == 0 { return remove() }
            // Some file systems know one name for each file.
            guard [EPERM, ENOSYS, EOPNOTSUPP].contains(errno), access(name, F_OK) != 0 else { throw .latest }
        }
        guard Glibc.rename(path, name) == 0 else { throw .latest }
    }

    /// Takes it away again.
    package func remove() {
        unlink(path)
    }
}
