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

    private static let folder = Checkout.file("Tests/Oracles")

    /// What a script writes, a line each; waits on a thread of its own, since it takes seconds.
    ///
    /// The script has to read all of its input before it writes.
    package static func lines(
        of script: String,
        arguments: [String] = [],
        input: String = "",
        environment: [String: String]
    ) async throws -> [String] {
        let output = try await output(of: script, arguments: arguments, input: input, environment: environment)
        return output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// The same as one text.
    ///
    /// Made of the plain system calls: Foundation's `Process` falls over when many tests start programs while others open
    /// and close descriptors.
    package static func output(
        of script: String,
        arguments: [String] = [],
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> String {
        guard let python else { throw Failure(description: "python3 is not installed") }
        let base = NSTemporaryDirectory() + "bellhop-script-" + UUID().uuidString
        let (question, answer) = (base + ".in", base + ".out")
        defer { for path in [question, answer] { unlink(path) } }
        try input.write(toFile: question, atomically: false, encoding: .utf8)
        let words = [python.path, folder.appendingPathComponent(script).path] + arguments
        let variables = environment.merging(
            ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        ) { given, _ in given }
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    returning: PlainProgram.run(words, environment: variables, input: question, output: answer)
                )
            }
        }
        guard status == 0 else { throw Failure(description: "\(script) failed with status \(status)") }
        return try String(contentsOfFile: answer, encoding: .utf8)
    }
}
