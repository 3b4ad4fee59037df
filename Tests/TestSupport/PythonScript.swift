import Foundation

/// Runs a script of `Tests/Oracles` in a child process: a calculation that shares no code with Bellhop.
package enum PythonScript {
    /// The reason why a script could not run.
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

    /// The environment by which Python finds a library that is installed for one user.
    package static var home: [String: String] {
        ProcessInfo.processInfo.environment["HOME"].map { ["HOME": $0] } ?? [:]
    }

    /// Whether a script succeeds; checked before tests that need the features for which it searches.
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

    /// Returns the lines that a script writes.
    ///
    /// It waits on a separate thread, because a script takes seconds.
    ///
    /// The script must read all of its input before it writes.
    package static func lines(
        of script: String,
        arguments: [String] = [],
        input: String = "",
        environment: [String: String]
    ) async throws -> [String] {
        let output = try await output(of: script, arguments: arguments, input: input, environment: environment)
        return output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Returns a script's output as one text.
    ///
    /// It uses the plain system calls, because Foundation's `Process` fails if many tests start programs while others
    /// open and close descriptors.
    package static func output(
        of script: String,
        arguments: [String] = [],
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> String {
        guard let python else { throw Failure(description: "python3 is not installed") }
        let words = [python.path, folder.appendingPathComponent(script).path] + arguments
        let variables = environment.merging(
            ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        ) { given, _ in given }
        let (status, text) = try await PlainProgram.output(of: words, environment: variables, input: input)
        guard status == 0 else { throw Failure(description: "\(script) failed with status \(status)") }
        return text
    }
}
