package import Foundation
package import ServiceRuntime
import Glibc
import TestSupport

/// A real `bellhop pool` or `bellhop up` with real workers and its log in a file.
package final class RunningPool: Sendable {
    /// The program that was built together with the tests.
    package static let executable = URL(fileURLWithPath: ChildProgram.own()).deletingLastPathComponent()
        .appendingPathComponent("bellhop").path
    package static let isBuilt = FileManager.default.isExecutableFile(atPath: executable)

    private let command: String
    private let child: ChildProcess
    private let log: String

    /// Starts a shell that redirects the log to a file and becomes the pool.
    package init(_ command: String, workers: Int, options: String, _ prompt: Prompt, in folder: URL) throws {
        self.command = command
        log = folder.appendingPathComponent("log").path
        var environment = prompt.environment.merging(Sanitizer.settings) { $1 }
        environment["BELLHOP_LOG"] = "info,json"
        environment["PATH"] = "/usr/bin:/bin"
        let script = "exec '\(Self.executable)' \(command) --workers \(workers) \(options) >'\(log)' 2>&1"
        let program = ChildProgram(path: "/bin/sh", arguments: ["-c", script], environment: environment)
        child = try ChildProcess(program, lifeline: ParentExitMonitor())
    }

    package func terminate() { child.terminate() }
    package func hangUp() { child.hangUp() }
    package func kill() { child.kill() }
    package func ending() async -> ChildExit { await child.ending() }

    /// Runs a body with a pool and leaves no process behind.
    package static func with(
        _ command: String = "pool",
        workers: Int,
        options: String = "",
        _ prompt: Prompt,
        in folder: URL,
        _ body: (RunningPool) async throws -> Void
    ) async throws {
        let pool = try RunningPool(command, workers: workers, options: options, prompt, in: folder)
        do {
            try await body(pool)
        } catch {
            pool.kill()
            for process in pool.lines.compactMap(\.child) { Glibc.kill(process, SIGKILL) }
            throw error
        }
        pool.kill()
    }

    // MARK: - Log

    package struct Line: Decodable {
        package let label: String
        package let pid: Int32
        package let message: String
        package let worker: Int?
        package let child: Int32?
        package let because: String?
        package let service: String?
    }

    package var text: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    package var lines: [Line] {
        text.split(separator: "\n").compactMap { try? JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// The started workers, the earliest first.
    package var workers: [(number: Int, process: Int32)] {
        starts(of: "worker").compactMap { line in
            guard let number = line.worker, let process = line.child else { return nil }
            return (number, process)
        }
    }

    /// Returns the started processes of another kind, the earliest first.
    package func processes(_ kind: String) -> [Int32] { starts(of: kind).compactMap(\.child) }

    private func starts(of kind: String) -> [Line] {
        lines.filter { $0.label == command && $0.message == "\(kind) started" }
    }

    /// The latest worker of each seat.
    ///
    /// If a server is too busy, a seat may lose its first worker.
    package var crew: [(number: Int, process: Int32)] {
        Dictionary(workers.map { ($0.number, $0) }, uniquingKeysWith: { $1 }).values.sorted { $0.number < $1.number }
    }

    /// Returns whether this number of workers consumes messages.
    package func isManned(_ workers: Int) -> Bool {
        let crew = crew
        return crew.count == workers && crew.allSatisfy { isConsuming($0.process) }
    }

    /// Returns whether the latest process of this kind listens with this service.
    package func isServing(_ kind: String, _ service: String) -> Bool {
        let process = processes(kind).last
        return lines.contains { $0.pid == process && $0.message == "listening" && $0.service == service }
    }

    /// Returns whether the worker consumes all three lanes, their resumes, receipts and replays.
    ///
    /// A connection that was lost on a busy host logs its consumers again.
    package func isConsuming(_ process: Int32) -> Bool {
        Set(lines.filter { $0.pid == process && $0.message.hasPrefix("consuming ") }.map(\.message)).count == 8
    }

    /// Returns whether the process runs.
    ///
    /// After its end, its number may belong to any other program.
    package func isRunning(_ process: Int32) -> Bool {
        let words = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
        return words?.contains("bellhop") ?? false
    }

    package func wait(for what: String, _ condition: (RunningPool) -> Bool) async throws {
        try await eventually("\(what); the log:\n" + lines.map { "\($0)" }.joined(separator: "\n")) { condition(self) }
    }
}

struct ProgramFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
