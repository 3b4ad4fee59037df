import Foundation
import ServiceRuntime
import Testing

@Suite("Where JSON5 goes wrong")
struct JSON5FaultTests {
    @Test(
        "the first fault has a line and a column",
        arguments: [
            ("", 1, 1), ("{a: 1,\n b: }", 2, 5), ("{a: 1,\n b: 2", 2, 6), ("{\n a: 'x\n}", 2, 5), ("{a:1} x", 1, 7),
            ("{a:1 b:2}", 1, 6), ("{a:1,\n // c\n b: tru}", 3, 5), ("{a 1}", 1, 4), ("[1,,2]", 1, 4), ("/* {", 1, 1),
            ("{a: /x}", 1, 5), ("{é: 'ü', b: §}", 1, 13),
        ]
    )
    func position(text: String, line: Int, column: Int) throws {
        let fault = try #require(JSON5Fault.locate(in: text))
        #expect(fault.line == line, "\(fault)")
        #expect(fault.column == column, "\(fault)")
    }

    @Test(
        "what Foundation reads has no fault",
        arguments: [
            "{}", "[]", "{a: 1, 'b': [true, null, .5, -1, +2, 0xff, 1e5, Infinity],}",
            "// c\n{/* d */ $x_1: \"a\\\"b\" }",
            "{a: 'line \\\n continued'}", "\u{feff}{}", "{a: 'http://x'}",
        ]
    )
    func wellFormed(text: String) {
        #expect(JSON5Fault.locate(in: text) == nil)
    }

    @Test("a nest as deep as it likes, or any text cut off anywhere, is survived")
    func hostile() {
        #expect(JSON5Fault.locate(in: String(repeating: "[", count: 100_000)) != nil)
        let text = "{a: 'x\\n', /* c */ b: [1, {c: null}], // d\n e: \"f\"}"
        for length in 0..<text.count {
            #expect(JSON5Fault.locate(in: String(text.prefix(length))) != nil)
        }
        #expect(JSON5Fault.locate(in: "'\\") != nil)
    }

    @Test(
        "a faulty file is one fault that says where",
        arguments: [
            ("{\n  batch: 12,\n  log: info\n}", "line 3, column 8"), ("[1]", "the whole has another form"),
            ("{batch: {x: 1}}", "has another form"), ("", "line 1, column 1"),
        ]
    )
    func file(text: String, found: String) throws {
        try withTemporaryFile(text) { path in
            guard case .failure(let faults) = BellhopConfiguration.read(environment: [:], file: path) else {
                Issue.record("no fault")
                return
            }
            #expect(faults.faults.count == 1)
            #expect(faults.description.contains(found), "\(faults)")
        }
    }

    @Test("a file that is not there, not text or a folder is one fault")
    func unreadable() throws {
        for path in ["/nowhere/bellhop.json5", "/etc", "/bin/sh"] {
            guard case .failure(let faults) = BellhopConfiguration.read(environment: ["BELLHOP_CONFIG": path]) else {
                Issue.record("no fault for \(path)")
                continue
            }
            #expect(faults.faults.count == 1)
            #expect(faults.description.contains(path))
        }
    }
}
