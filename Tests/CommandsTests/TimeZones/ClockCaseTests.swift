import CommandLineSupport
import Testing
import TestSupport

@testable import Commands

@Suite("bellhop quiet and bellhop next-run compared with Python")
struct ClockCaseTests {
    @Test(
        "thousands of random questions have the answers of Python's zoneinfo",
        .enabled(if: PythonScript.isThere, "needs python3")
    )
    func cases() async throws {
        let seed = UInt32.random(in: 0 ... .max)
        print("clock cases: Tests/Oracles/clock_cases.py \(seed) 3000")
        let lines = try await PythonScript.lines(
            of: "clock_cases.py",
            arguments: ["\(seed)", "3000"],
            environment: ["PYTHONTZPATH": "/usr/share/zoneinfo"]
        )
        #expect(lines.count == 3_000)
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            let (command, expected) = words[0] == "quiet" ? Self.quiet(words) : Self.nextRun(words)
            let answer = await Prompt().run(command)
            #expect(answer.output == expected, "\(command.joined(separator: " "))")
        }
    }

    private static func quiet(_ words: [String]) -> (command: [String], expected: String) {
        let command = [
            "quiet", "--start", words[1], "--end", words[2], "--timezone", words[3], "--at", words[4], "--json",
        ]
        let isQuiet = words[5] != "-"
        return (command, #"{"quiet":\#(isQuiet),"until":\#(isQuiet ? "\"\(words[5])\"" : "null")}"#)
    }

    private static func nextRun(_ words: [String]) -> (command: [String], expected: String) {
        var command = ["next-run", "--local", words[1], "--timezone", words[2], "--after", words[3]]
        if words[4] != "-" { command += ["--days", words[4]] }
        command += ["--count", words[5], "--json"]
        let runs = words[6...].map { "\"\($0)\"" }.joined(separator: ",")
        return (command, #"{"runs":[\#(runs)]}"#)
    }
}
