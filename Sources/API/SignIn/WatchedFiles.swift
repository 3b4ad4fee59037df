import ServiceRuntime

/// Reads small files and records their content, so that later changes can be detected.
final class WatchedFiles {
    /// No key set, no file of issuers and no file of authorities is longer.
    private static let longest = 1 << 20

    /// The content of each file; `nil` if it could not be read.
    private(set) var contents: [String: [UInt8]?] = [:]

    /// Reads a file once; later calls return the same content.
    func read(_ path: String) -> Result<[UInt8], SmallFile.Problem> {
        if case .some(.some(let known)) = contents[path] { return .success(known) }
        let read = SmallFile.read(path, atMost: Self.longest)
        contents[path] = .some(try? read.get())
        return read
    }

    /// Whether any of the files has other content now.
    static func haveChanged(_ contents: [String: [UInt8]?]) -> Bool {
        contents.contains { path, content in (try? SmallFile.read(path, atMost: longest).get()) != content }
    }
}
