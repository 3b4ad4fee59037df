import Foundation

/// A script of `Tests/Oracles` in a child process: a calculation that shares no code with Bellhop.
package enum PythonScript {
    /// What keeps a script from being asked.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The interpreter, from the folders of `PATH`.
    private static let python: URL? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let places = folders.map { URL(fileURLWithPath: String($0)).appendingPathComponent("python3") }
        return places.first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }()

    package static var isThere: Bool { python != nil }

    /// What a library outside of Python's own is found by, where it is installed for one user.
    package static var home: [String: String] {
        ProcessInfo.processInfo.environment["HOME"].map { ["HOME": $0] } ?? [:]
    }

    /// Whether a script ends well, asked before the tests that need what it looks for.
    package static func succeeds(_ script: String, _ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = python
        process.arguments = [folder.appendingPathComponent(script).path] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Oracles")

    /// What a script writes, a line each; waits on a thread of its own, since it takes seconds.
    ///
    /// The script has to read all of its input before it writes.
    package static func lines(
        of script: String,
        arguments: [String] = [],
        input: String = "",
        environment: [String: String]
    ) async throws -> [String] {
        let process = Process()
        process.executableURL = python
        process.arguments = [folder.appendingPathComponent(script).path] + arguments
        process.environment = environment.merging(
            ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        ) { given, _ in given }
        let (question, answer) = (Pipe(), Pipe())
        process.standardInput = question
        process.standardOutput = answer
        try process.run()
        let output: String = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                question.fileHandleForWriting.write(Data(input.utf8))
                try? question.fileHandleForWriting.close()
                let output = answer.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(returning: String(decoding: output, as: UTF8.self))
            }
        }
        guard process.terminationStatus == 0 else { throw Failure(description: "\(script) failed") }
        return output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
