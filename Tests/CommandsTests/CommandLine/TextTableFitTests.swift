import ServiceRuntime
import Testing

@testable import Commands

@Suite("Tables on a terminal")
struct TextTableFitTests {
    private let table = TextTable(
        ["item", "user", "note", "error"],
        texts: [1, 2, 3],
        flexible: [3, 1],
        optional: [2],
        rows: [["a", "somebody@example.com", "extra", String(repeating: "x", count: 90)]]
    )

    @Test("a table fits its terminal: what is optional goes first, then what is long is cut", arguments: [50, 80, 120])
    func fits(width: Int) {
        let lines = table.lines(fitting: width)
        #expect(lines.allSatisfy { $0.count <= width })
        #expect(lines[0].contains("note") == (width == 120))
        #expect(lines[1].hasSuffix("…") == (width < 120))
    }

    @Test("where nobody knows how wide a line is, long cells have their usual width")
    func unknown() {
        #expect(table.lines()[1].count == 4 + 2 + 20 + 2 + 5 + 2 + 60)
    }

    @Test("colours are for terminals alone")
    func colours() {
        let (paper, screen) = (CapturedOutput(), CapturedOutput())
        paper.output.print(line: "bad", .bad)
        screen.screen(width: 80).print(line: "bad\u{1B}[2J", .bad)
        #expect(paper.text == "bad")
        #expect(screen.text == "\u{1B}[31mbad\\u001b[2J\u{1B}[0m")
    }
}
