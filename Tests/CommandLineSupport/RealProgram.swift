import Foundation
package import ServiceRuntime
import TestSupport

/// The real program behind a shell's redirections, with a separate environment.
package struct RealProgram {
    package let environment: [String: String]

    package init(_ prompt: Prompt) {
        let usual = Sanitizer.settings.merging(["PATH": "/usr/bin:/bin"]) { $1 }
        environment = prompt.environment.merging(usual) { given, _ in given }
    }

    /// Starts a line of shell in which `bellhop` is the program.
    package func start(_ line: String) throws -> ChildProcess {
        let script = "bellhop() { '\(RunningPool.executable)' \"$@\"; }; \(line)"
        return try ChildProcess(
            ChildProgram(path: "/bin/sh", arguments: ["-c", script], environment: environment),
            lifeline: ParentExitMonitor()
        )
    }

    /// Runs the line to its end and returns its stderr.
    package func run(_ line: String) async throws -> (ending: ChildExit, complaints: String) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("stderr")).path
        defer { unlink(file) }
        let ending = try await start("{ \(line); } 2>'\(file)'").ending()
        return (ending, (try? String(contentsOfFile: file, encoding: .utf8)) ?? "")
    }

    /// Runs the program at a terminal.
    package func run(_ words: String, at terminal: PseudoTerminal) async throws -> ChildExit {
        let child = try start("bellhop \(words) <'\(terminal.path)' >'\(terminal.path)' 2>&1")
        // A terminal holds a few thousand bytes, so the test must read while the program writes.
        async let ending = child.ending()
        let reader = Task {
            while !Task.isCancelled {
                _ = terminal.text
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        let result = await ending
        reader.cancel()
        return result
    }
}
