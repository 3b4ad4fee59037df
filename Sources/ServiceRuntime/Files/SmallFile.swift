import Foundation

/// Reads a whole file, unless it is larger than a limit.
package enum SmallFile {
    /// The reason why a file was not read, as the end of a sentence that begins with its name.
    package struct Problem: Error {
        package let text: String
    }

    package static func read(_ path: String, atMost limit: Int) -> Result<[UInt8], Problem> {
        guard FileManager.default.fileExists(atPath: path) else { return .failure(Problem(text: "does not exist")) }
        guard let handle = FileHandle(forReadingAtPath: path) else {
            return .failure(Problem(text: "may not be read by this user"))
        }
        defer { try? handle.close() }
        do {
            // An empty file reads as `nil`.
            let bytes = [UInt8](try handle.read(upToCount: limit + 1) ?? Data())
            guard bytes.count <= limit else { return .failure(Problem(text: "is longer than \(limit) bytes")) }
            return .success(bytes)
        } catch {
            return .failure(Problem(text: "cannot be read; it must be a plain file"))
        }
    }

    /// Returns the path that a file names; a relative path starts at the file's folder.
    package static func path(_ path: String, namedIn file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }
}
