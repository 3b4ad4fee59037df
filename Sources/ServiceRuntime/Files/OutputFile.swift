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
