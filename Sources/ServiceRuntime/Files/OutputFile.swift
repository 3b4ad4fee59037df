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

        /// What the system said last.
        static var latest: Failure {
            Failure(reason: errno == EEXIST ? "the file already exists" : String(cString: strerror(errno)))
        }
    }

    /// Writes a file; `mode` says who may use it, such as `0o600`, before the first byte is in it.
    package static func write(
        _ bytes: [UInt8],
        to path: String,
        mode: UInt32,
        predecessor: Predecessor
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
