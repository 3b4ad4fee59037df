import Foundation
import ServiceRuntime

/// The operator's own editor, on a file that only the operator can read and that is gone afterwards.
struct TextEditor: Sendable {
    private let program: String

    /// `VISUAL`, `EDITOR`, or vi.
    init(_ environment: [String: String]) {
        let named = [environment["VISUAL"], environment["EDITOR"]].compactMap { $0 }.first { !$0.isEmpty }
        program = named ?? "vi"
    }

    /// Opens a text and returns it as it was saved.
    func edit(_ text: [UInt8]) async throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("body.json")
        guard
            FileManager.default.createFile(
                atPath: file.path,
                contents: Data(text),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw failure("no file can be made in \(folder.path)", "set TMPDIR to a folder of your own") }
        let status = try await open(file)
        guard status == 0 else { throw failure("it ended with \(status)", "nothing was changed; set EDITOR") }
        return [UInt8](try Data(contentsOf: file))
    }

    /// Through a shell, since people put options behind the name of their editor.
    private func open(_ file: URL) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "\(program) \"$1\"", "sh", file.path]
        return try await withCheckedThrowingContinuation { answer in
            process.terminationHandler = { answer.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { answer.resume(throwing: error) }
        }
    }

    private func failure(_ cameBack: String, _ whatToDo: String) -> CommandFailure {
        CommandFailure(.badInput, attempted: "editing with \(program)", cameBack: cameBack, whatToDo: whatToDo)
    }
}
