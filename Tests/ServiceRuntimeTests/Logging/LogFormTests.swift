import Foundation
import ServiceRuntime
import Testing

@Suite("Log lines")
struct LogFormTests {
    private func record(_ message: String, _ fields: LogFields = [:]) -> LogRecord {
        LogRecord(
            time: Instant(microseconds: 1_771_163_100_123_456),
            level: .notice,
            label: "worker",
            process: 4_711,
            message: message,
            fields: fields
        )
    }

    private func object(_ line: String) throws -> [String: Any] {
        #expect(line.hasSuffix("\n"))
        #expect(line.filter(\.isNewline).count == 1)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test("the text form has time, level, label, process, message and fields in their order")
    func textGolden() {
        let line = LogForm.text.line(
            for: record("drained", ["lane": "urgent", "held": 0, "took": .span(.milliseconds(1_234)), "clean": true])
        )
        #expect(
            line == "2026-02-15T13:45:00.123Z NOTICE  worker[4711] drained  lane=urgent held=0 took=1.23s clean=true\n"
        )
    }

    @Test("the JSON form is one object per line with typed values")
    func jsonGolden() {
        let line = LogForm.json.line(
            for: record("drained", ["lane": "urgent", "held": 0, "ratio": 0.5, "clean": true])
        )
        #expect(
            line == #"{"time":"2026-02-15T13:45:00.123Z","level":"notice","label":"worker","pid":4711,"#
                + #""message":"drained","lane":"urgent","held":0,"ratio":0.5,"clean":true}"# + "\n"
        )
    }

    @Test(
        "values other than one plain word are quoted",
        arguments: [
            ("plain", "plain"), ("", #""""#), ("two words", #""two words""#), ("a=b", #""a=b""#),
            (#"say "hi""#, #""say \"hi\"""#), (#"back\slash"#, #""back\\slash""#), ("läßt", "läßt"),
            ("line\nbreak", #""line\nbreak""#), ("\u{1b}[31m", #""\u{1b}[31m""#), ("nul\0", #""nul\u{0}""#),
            ("\u{202e}evil", #""\u{202e}evil""#), ("\r\n", #""\r\n""#),
        ]
    )
    func quoting(value: String, expected: String) {
        let line = LogForm.text.line(for: record("m", ["v": .text(value)]))
        #expect(line.hasSuffix("  v=\(expected)\n"))
    }

    @Test(
        "no text in a message or a value can begin a new line",
        arguments: ["\n", "\r", "\r\n", "\u{85}", "\u{2028}", "\u{2029}", "\u{b}", "\u{c}"]
    )
    func injection(separator: String) throws {
        let evil = "x\(separator)2026-02-15T13:45:00.123Z ERROR   worker[4711] forged"
        for form in [LogForm.text, .json] {
            let line = form.line(for: record(evil, ["value": .text(evil), "na\(separator)me": .text(evil)]))
            #expect(line.filter(\.isNewline).count == 1)
            #expect(line.last == "\n")
        }
        let parsed = try object(LogForm.json.line(for: record(evil)))
        #expect(parsed["message"] as? String == evil)
    }

    @Test("a field cannot take the name of a line's fixed member")
    func takenNames() throws {
        let parsed = try object(LogForm.json.line(for: record("real", ["message": "forged", "level": "debug"])))
        #expect(parsed["message"] as? String == "real")
        #expect(parsed["_message"] as? String == "forged")
        #expect(parsed["level"] as? String == "notice")
    }

    @Test("numbers that JSON cannot represent become texts")
    func numbers() throws {
        let parsed = try object(LogForm.json.line(for: record("m", ["a": .number(.infinity), "b": .number(.nan)])))
        #expect(parsed["a"] as? String == "inf")
        #expect(parsed["b"] as? String == "nan")
    }

    @Test(
        "no line exceeds the atomic size of a pipe, and JSON stays valid",
        arguments: ["a", "é", "👩‍👩‍👧", "\u{1}", "\"", "\u{2028}"]
    )
    func longLines(unit: String) throws {
        let long = String(repeating: unit, count: 5_000)
        var many: LogFields = [:]
        for index in 0..<60 { many["field\(index)"] = .text(long) }
        for record in [record(long), record("m", ["v": .text(long)]), record(long, many)] {
            #expect(LogForm.text.line(for: record).utf8.count <= 4_096)
            let line = LogForm.json.line(for: record)
            #expect(line.utf8.count <= 4_096)
            _ = try object(line)
        }
    }

    @Test(
        "durations are shown with few digits",
        arguments: [
            (870, "870µs"), (12_345, "12.3ms"), (4_567_000, "4.56s"), (120_000_000, "2m"), (90_000_000, "90s"),
            (0, "0µs"),
        ] as [(Int, String)]
    )
    func spans(microseconds: Int, expected: String) {
        let line = LogForm.text.line(for: record("m", ["took": .span(.microseconds(microseconds))]))
        #expect(line.hasSuffix("  took=\(expected)\n"))
    }
}
