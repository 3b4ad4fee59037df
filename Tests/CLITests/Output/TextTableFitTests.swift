import ServiceRuntime
import Testing
import TestSupport

@testable import CLI

@Suite("Tables on a terminal")
struct TextTableFitTests {
    private let table = TextTable(
        ["item", "user", "note", "error"],
        texts: [1, 2, 3],
        flexible: [3, 1],
        optional: [2],
        rows: [["a", "somebody@example.com", "extra", String(repeating: "x", count: 90)]]
    )

    @Test("a table wider than its terminal loses optional columns, then long cells are cut", arguments: [50, 80, 140])
    func fits(width: Int) {
        let lines = table.lines(fitting: width)
        #expect(lines.allSatisfy { $0.count <= width })
        #expect(lines[0].contains("note") == (width == 140))
        #expect(lines[1].hasSuffix("…") == (width < 140))
    }

    @Test("long cells have their usual width if the width of a line is unknown")
    func unknown() {
        #expect(table.lines()[1].count == 4 + 2 + 20 + 2 + 5 + 2 + 60)
    }

    @Test("colours appear only on terminals")
    func colours() {
        let (paper, screen) = (CapturedOutput(), CapturedOutput())
        paper.output.print(line: "bad", .bad)
        screen.screen(width: 80).print(line: "bad\u{1B}[2J", .bad)
        #expect(paper.text == "bad")
        #expect(screen.text == "\u{1B}[31mbad\\u001b[2J\u{1B}[0m")
    }
}
