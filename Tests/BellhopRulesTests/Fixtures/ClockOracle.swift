import TestSupport
import Testing

/// The C library's knowledge of zones, asked for through Python: it shares no code with the rules.
enum ClockOracle {
    static var isThere: Bool { PythonScript.isThere }
    static let absence: Comment = "needs python3"

    /// Asks all questions of one child process; see `Tests/Oracles/clock_offsets.py` for what can be asked.
    ///
    /// Returns the words of each answer.
    static func ask(_ questions: [String], of folder: String = Zones.folder) async throws -> [[Substring]] {
        let lines = try await PythonScript.lines(
            of: "clock_offsets.py",
            input: questions.joined(separator: "\n"),
            environment: ["TZDIR": folder]
        )
        try #require(lines.count == questions.count)
        return lines.map { $0.split(separator: " ") }
    }
}
