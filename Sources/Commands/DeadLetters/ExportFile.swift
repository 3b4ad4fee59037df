import Foundation
import ServiceRuntime

/// Where an export goes: a new file that only its owner can read, or stdout.
///
/// A file appears under its name when it is whole; until then `.part` is appended.
struct ExportFile {
    private let path: String?
    private let handle: FileHandle?
    private let print: @Sendable (String) -> Void

    /// No path means stdout, through `print`.
    init(path: String?, print: @escaping @Sendable (String) -> Void) throws(CommandFailure) {
        self.path = path
        self.print = print
        guard let path else {
            handle = nil
            return
        }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw Self.failure(path, "the file is there already", "name another one")
        }
        let isMade = FileManager.default.createFile(
            atPath: path + ".part",
            contents: nil,
            attributes: [.posixPermissions: 0o600]
        )
        guard isMade, let handle = FileHandle(forWritingAtPath: path + ".part") else {
            throw Self.failure(path, "the file cannot be written", "name a folder that is there and may be written to")
        }
        self.handle = handle
    }

    /// Writes lines, and returns once they are on the disk.
    func write(_ lines: [String]) throws(CommandFailure) {
        guard let handle else { return lines.forEach(print) }
        do {
            try handle.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
            try handle.synchronize()
        } catch {
            throw Self.failure(
                path ?? "-",
                "the disk does not take it",
                "make room; \(path ?? "-").part has what fitted"
            )
        }
    }

    /// Gives the file its name.
    func close() throws(CommandFailure) {
        guard let handle, let path else { return }
        do {
            try handle.close()
            try FileManager.default.moveItem(atPath: path + ".part", toPath: path)
        } catch {
            throw Self.failure(path, "the file cannot be renamed", "\(path).part has everything")
        }
    }

    private static func failure(_ path: String, _ cameBack: String, _ whatToDo: String) -> CommandFailure {
        CommandFailure(.badInput, attempted: "exporting to \(path)", cameBack: cameBack, whatToDo: whatToDo)
    }
}
