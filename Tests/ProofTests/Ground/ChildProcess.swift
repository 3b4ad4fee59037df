import Foundation
import Glibc

/// A program that runs beside the test, its output in a file of its own.
///
/// Thread safety: `Process` guards its own state, everything else is constant.
final class ChildProcess: Sendable {
    enum Ending: Equatable {
        case exited(Int32)
        case signalled(Int32)
    }

    let name: String
    let pid: pid_t
    private let process: Process
    private let logFile: URL

    /// Starts `program` with this environment and nothing of ours.
    init(
        _ program: URL,
        _ arguments: [String],
        environment: [String: String],
        named name: String,
        logs: URL
    ) throws {
        self.name = name
        logFile = logs.appendingPathComponent("\(name)-\(UInt32.random(in: 0 ... .max)).log")
        guard FileManager.default.createFile(atPath: logFile.path, contents: nil) else {
            throw ProofFailure("cannot write \(logFile.path)")
        }
        let log = try FileHandle(forWritingTo: logFile)
        defer { try? log.close() }
        process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = log
        process.standardError = log
        try process.run()
        pid = process.processIdentifier
    }

    var isRunning: Bool { process.isRunning }

    /// A signal to the program, unless it has ended.
    func send(_ signal: Int32) {
        guard process.isRunning else { return }
        kill(pid, signal)
    }

    /// How it ended; throws where it still runs after `limit`.
    @discardableResult
    func ending(within limit: Duration = .seconds(30)) async throws -> Ending {
        try await eventually("\(name) ends; its log:\n\(log)", within: limit) { !process.isRunning }
        return process.terminationReason == .exit
            ? .exited(process.terminationStatus) : .signalled(process.terminationStatus)
    }

    /// Kills it where it still runs, and waits until it is gone.
    func end() async {
        send(SIGKILL)
        _ = try? await ending(within: .seconds(10))
    }

    /// What it has written so far.
    var log: String {
        (try? String(contentsOf: logFile, encoding: .utf8)) ?? ""
    }

    func waitForLog(_ text: String, within limit: Duration = .seconds(30)) async throws {
        try await eventually("\(name) says \(text); its log:\n\(log)", within: limit) {
            log.contains(text) || !process.isRunning
        }
        guard log.contains(text) else { throw ProofFailure("\(name) ended early; its log:\n\(log)") }
    }
}
