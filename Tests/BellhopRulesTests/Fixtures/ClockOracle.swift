import Foundation
import Testing

/// The C library's knowledge of zones, asked for through Python in a child process: it shares no code with the rules.
enum ClockOracle {
    /// The interpreter, from the folders of `PATH`; nil where there is none.
    private static let python: URL? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let places = folders.map { URL(fileURLWithPath: String($0)).appendingPathComponent("python3") }
        return places.first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }()

    static var isThere: Bool { python != nil }
    static let absence: Comment = "needs python3"

    /// Asks all questions of one child process; see `Tests/Oracles/clock_offsets.py` for what can be asked.
    ///
    /// Returns the words of each answer.
    static func ask(_ questions: [String]) async throws -> [[Substring]] {
        let answers = try await run("clock_offsets.py", input: questions.joined(separator: "\n"))
        let lines = answers.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        try #require(lines.count == questions.count)
        return lines.map { $0.split(separator: " ") }
    }

    /// What a script of `Tests/Oracles` says to an input; on a thread of its own, since it takes seconds.
    private static func run(_ script: String, input: String) async throws -> String {
        let process = Process()
        process.executableURL = python
        process.arguments = [Repository.path("Tests/Oracles/\(script)")]
        process.environment = ["TZDIR": Zones.folder, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        let (question, answer) = (Pipe(), Pipe())
        process.standardInput = question
        process.standardOutput = answer
        try process.run()
        let output: String = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // The script reads all of its input before it writes.
                question.fileHandleForWriting.write(Data(input.utf8))
                try? question.fileHandleForWriting.close()
                let output = answer.fileHandleForReading.readDataToEndOfFile()
                continuation.resume(returning: String(decoding: output, as: UTF8.self))
            }
        }
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(script) failed")
        return output
    }
}
