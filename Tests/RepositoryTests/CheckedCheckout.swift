import Foundation
import TestSupport

/// A checkout made for a test of a script that checks sources.
enum CheckedCheckout {
    /// Returns the script's output and exit code in a checkout that contains the script and these files.
    static func run(_ script: String, on files: [String: String]) throws -> (output: String, code: Int32) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("checkout"))
        defer { try? FileManager.default.removeItem(at: folder) }
        var contents = files
        for script in [script, "deploy/lib/base.sh"] { contents[script] = try Checkout.text(script) }
        for (path, text) in contents {
            let file = folder.appendingPathComponent(path)
            let parent = file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = [folder.appendingPathComponent(script).path]
        process.standardOutput = output
        try process.run()
        let printed = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (String(decoding: printed, as: UTF8.self), process.terminationStatus)
    }
}
