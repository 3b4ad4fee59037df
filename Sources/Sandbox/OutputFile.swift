import Glibc

/// A file that others wait for: it appears whole or not at all.
enum OutputFile {
    /// Writes beside the path and renames; `mode` says who may read it, such as `0o600`.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(SandboxError) {
        let draft = "\(path).\(getpid()).new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard file >= 0 else { throw failure(path) }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { rest in
                Glibc.write(file, rest.baseAddress?.advanced(by: written), rest.count - written)
            }
            guard count > 0 || errno == EINTR else { break }
            written += max(0, count)
        }
        let isWhole = written == bytes.count
        guard close(file) == 0, isWhole, rename(draft, path) == 0 else {
            let error = failure(path)
            unlink(draft)
            throw error
        }
    }

    private static func failure(_ path: String) -> SandboxError {
        SandboxError(.fileUnwritable, attempted: "writing \(path)", cameBack: String(cString: strerror(errno)))
    }
}
