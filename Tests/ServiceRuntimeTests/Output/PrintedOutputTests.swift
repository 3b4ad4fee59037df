import Foundation
import Synchronization
import Testing

@testable import ServiceRuntime

@Suite("Printed output")
struct PrintedOutputTests {
    /// An output with the text that it has written so far.
    private final class Paper: Sendable {
        let written = Mutex("")
        let code = Mutex<Int32>(0)

        var output: PrintedOutput {
            PrintedOutput { [self] piece in
                let code = code.withLock { $0 }
                if code == 0 { written.withLock { $0 += String(decoding: piece, as: UTF8.self) } }
                return code
            }
        }

        var text: String { written.withLock { $0 } }
    }

    @Test(
        "a mark is escaped as in JSON",
        arguments: [
            ("\u{1B}]52;c;aGk=\u{7}", #"\u001b]52;c;aGk=\u0007"#), ("\u{9B}31m", #"\u009b31m"#), ("\u{7F}", #"\u007f"#),
            ("\u{202E}gpj", #"\u202egpj"#), ("\u{2066}a\u{2069}", #"\u2066a\u2069"#), ("\u{61C}", #"\u061c"#),
            ("a\u{200B}b", #"a\u200bb"#), ("\u{E0041}", #"\udb40\udc41"#), ("\u{FEFF}", #"\ufeff"#), ("a\rb", #"a\rb"#),
        ] as [(String, String)]
    )
    func marks(text: String, expected: String) {
        let paper = Paper()
        paper.output.print(text)
        #expect(paper.text == expected + "\n")
    }

    @Test("letters of every script and emoji families are kept", arguments: ["blåbær", "שלום", "می‌خواهم", "👩‍👩‍👧"])
    func letters(text: String) {
        let paper = Paper()
        paper.output.print(text)
        #expect(paper.text == text + "\n")
    }

    @Test("a text keeps its layout, and no content can end a line or a question")
    func layout() {
        let paper = Paper()
        paper.output.print("a\n\tb")
        paper.output.print(line: "a\nb\tc")
        paper.output.ask("sure\n? ")
        #expect(paper.text == "a\n\tb\n" + #"a\nb\tc"# + "\n" + #"sure\n? "#)
    }

    @Test("lines of a screen are cut after escaping")
    func screen() {
        let written = Mutex("")
        let output = PrintedOutput(width: 8) { piece in
            written.withLock { $0 += String(decoding: piece, as: UTF8.self) }
            return 0
        }
        output.showScreen([(text: "ab\u{9B}cdefgh", emphasis: .bad)])
        let shown = written.withLock { $0 }
        #expect(shown.contains(#"m"# + #"ab\u009b"# + "\u{1B}[0m"), "\(shown)")
    }

    @Test("an escaped text between JSON quotes is the same value")
    func json() throws {
        let value = "\u{9B}2J\u{202E}\u{E0041}\u{7F} and \u{2028}"
        let paper = Paper()
        paper.output.print(line: "[\"\(value)\"]")
        let read = try JSONDecoder().decode([String].self, from: Data(paper.text.utf8))
        #expect(read == [value])
    }

    @Test("a redrawn line is the only command that a terminal receives")
    func redraw() {
        let paper = Paper()
        paper.output.redraw("50 %\u{1B}[2J")
        #expect(paper.text == "\r50 %" + #"\u001b[2J"# + "\u{1B}[K")
    }

    @Test("a closed reader is not reported as a failure, and nothing more is written")
    func unheard() {
        let paper = Paper()
        let output = paper.output
        paper.code.withLock { $0 = EPIPE }
        output.print("a")
        paper.code.withLock { $0 = 0 }
        output.print("b")
        #expect(!output.isOpen)
        #expect(output.failure == nil)
        #expect(paper.text.isEmpty)
    }

    @Test("a full disk is a failure with the system's text")
    func full() {
        let paper = Paper()
        let output = paper.output
        paper.code.withLock { $0 = ENOSPC }
        output.print("a")
        #expect(!output.isOpen)
        #expect(output.failure == "No space left on device")
    }
}
