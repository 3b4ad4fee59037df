import Glibc

/// Files that hold a key or a password.
package enum SecretFile {
    /// Whether users of this machine whom nobody has chosen may read it or write to it.
    ///
    /// A group is chosen by whoever gives the file to it. What a container's engine mounts under `/run/secrets` has loose
    /// rights, and the container has nobody else in it. False where there is no such file.
    package static func isOpenToAll(_ path: String) -> Bool {
        var status = stat()
        guard !path.hasPrefix("/run/secrets/"), stat(path, &status) == 0 else { return false }
        return status.st_mode & 0o006 != 0
    }
}
