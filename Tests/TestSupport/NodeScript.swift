import Foundation

/// Runs a script with Node, on machines that have it.
package enum NodeScript {
    private static let node = ["/usr/bin/node", "/usr/local/bin/node"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    package static var isThere: Bool { node != nil }

    /// Returns the output of a module.
    package static func output(of module: String) async throws -> String {
        guard let node else { throw PythonScript.Failure(description: "node is not installed") }
        let words = [node, "--input-type=module"]
        let (status, text) = try await PlainProgram.output(of: words, environment: [:], input: module)
        guard status == 0 else { throw PythonScript.Failure(description: "node failed with status \(status): \(text)") }
        return text
    }
}
