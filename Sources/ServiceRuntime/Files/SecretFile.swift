import Glibc

/// Files that contain a key or a password.
package enum SecretFile {
    /// Whether any user of this machine may read the file or write to it.
    ///
    /// Group permissions are accepted, because an operator chose the group. Files under `/run/secrets` are mounted by a
    /// container's engine with loose permissions, but the container has no other users. The result is `false` if the
    /// file does not exist.
    package static func isOpenToAll(_ path: String) -> Bool {
        var status = stat()
        guard !path.hasPrefix("/run/secrets/"), stat(path, &status) == 0 else { return false }
        return status.st_mode & 0o006 != 0
    }
}
