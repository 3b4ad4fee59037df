import TestSupport
import Testing

/// The C library's data of zones, read through Python, which shares no code with the rules.
enum ClockOracle {
    static var isThere: Bool { PythonScript.isThere }
    static let absence: Comment = "needs python3"

    /// Sends all questions to one child process and returns each answer, split at its spaces.
    ///
    /// `Tests/Oracles/clock_offsets.py` lists the possible questions.
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
