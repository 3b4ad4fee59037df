import Foundation
import TestSupport
import Testing

/// All output goes through `PrintedOutput`, which escapes it; the log has a separate sink, which escapes it too.
@Suite("Writers to stdout and stderr")
struct PrintingTests {
    /// The files that may name the two descriptors.
    private static let owners = [
        "ServiceRuntime/Output/PrintedOutput.swift", "ServiceRuntime/Output/StandardDescriptor.swift",
        "ServiceRuntime/Logging/StandardErrorSink.swift",
    ]

    @Test("no other file names the descriptors or calls a function that prints to them")
    func sources() throws {
        let folder = Checkout.file("Sources")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(files.count > 400)
        let named = try Regex(
            #"FileHandle\.standard(Output|Error)|STD(OUT|ERR)_FILENO|\b(stdout|stderr)\)|\b(fputs|fprintf|vprintf|perror)\("#
        )
        // In an extension of the dead-letter session, the call is the session's method, which prints one line to its
        // output.
        let bare = try Regex(#"(^|[^.\w])(print|debugPrint|dump)\(|Swift\.print|forEach\(print\)"#)
        for file in files where !Self.owners.contains(file) {
            let isSession = file.contains("DeadLetters/DeadLetterSession")
            let lines = try String(contentsOfFile: folder.appendingPathComponent(file).path, encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() where !line.contains("///") && !line.contains("func print(") {
                let isFound = line.contains(named) || (!isSession && line.contains(bare))
                #expect(!isFound, "\(file):\(number + 1): \(line)")
            }
        }
    }
}
