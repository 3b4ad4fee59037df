import Foundation
import TestSupport
import Testing

/// Whatever is printed goes through `PrintedOutput`, which escapes it; the log has its own sink, which does so too.
@Suite("Who writes to stdout and stderr")
struct PrintingTests {
    /// Where the two descriptors may be named.
    private static let owners = [
        "ServiceRuntime/Output/PrintedOutput.swift", "ServiceRuntime/Output/StandardDescriptor.swift",
        "ServiceRuntime/Logging/StandardErrorSink.swift",
    ]

    @Test("no other file names them, or calls what prints by itself")
    func sources() throws {
        let folder = Checkout.file("Sources")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(files.count > 400)
        let named = try Regex(
            #"FileHandle\.standard(Output|Error)|STD(OUT|ERR)_FILENO|\b(stdout|stderr)\)|\b(fputs|fprintf|vprintf|perror)\("#
        )
        // In an extension of the desk's session this is the session's own, which says one line to its output.
        let bare = try Regex(#"(^|[^.\w])(print|debugPrint|dump)\(|Swift\.print|forEach\(print\)"#)
        for file in files where !Self.owners.contains(file) {
            let isSession = file.contains("DeadLetters/DeskSession")
            let lines = try String(contentsOfFile: folder.appendingPathComponent(file).path, encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() where !line.contains("///") && !line.contains("func print(") {
                let isFound = line.contains(named) || (!isSession && line.contains(bare))
                #expect(!isFound, "\(file):\(number + 1): \(line)")
            }
        }
    }
}
