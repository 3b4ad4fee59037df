import Foundation
import ServiceRuntime

/// Runs the operator's own editor on a file that only the operator can read and that is deleted afterwards.
struct TextEditor: Sendable {
    private let program: String
    private let environment: [String: String]

    /// Selects `VISUAL`, `EDITOR`, or vi.
    init(_ environment: [String: String]) {
        let named = [environment["VISUAL"], environment["EDITOR"]].compactMap { $0 }.first { !$0.isEmpty }
        program = named ?? "vi"
        self.environment = environment
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
        let path = folder.appendingPathComponent("body.json").path
        do throws(OutputFile.Failure) {
            try NewFile(path: path).write(text)
        } catch {
            throw failure(
                "no file can be written in \(folder.path): \(error.reason)",
                "set TMPDIR to a folder that you own"
            )
        }
        let ending = try await open(path)
        guard ending == .exited(0) else { throw failure("\(ending)", "nothing was changed; set EDITOR") }
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Runs the editor through a shell, since the variable may contain options after the program's name.
    ///
    /// Ctrl-C goes to the editor meanwhile.
    private func open(_ path: String) async throws(CommandFailure) -> ChildExit {
        let former = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
        defer { for (number, handler) in former { _ = signal(number, handler) } }
        let arguments = ["-c", "trap : INT QUIT; \(program) \"$1\"", "sh", path]
        let shell = ChildProgram(path: "/bin/sh", arguments: arguments, environment: environment)
        return try await ChildProcess(inForeground: shell).ending()
    }

    private func failure(_ cameBack: String, _ whatToDo: String) -> CommandFailure {
        CommandFailure(.badInput, attempted: "editing with \(program)", cameBack: cameBack, whatToDo: whatToDo)
    }
}
