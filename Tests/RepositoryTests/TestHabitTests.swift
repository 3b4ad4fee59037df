import Foundation
import TestSupport
import Testing

/// Checks that one place defines the waiting times of tests, because a limit in a test fails on the first slow day.
@Suite("Rules of the tests")
struct TestHabitTests {
    private static func lines() throws -> [(place: String, text: Substring)] {
        let folder = Checkout.file("Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let sources = (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        return try sources.filter { !$0.path.contains("/TestSupport/") }.flatMap { file in
            let text = try String(contentsOf: file, encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return lines.enumerated().map { ("\(file.lastPathComponent):\($0 + 1)", $1) }
        }
    }

    @Test("no test defines its time limit or its waiting time")
    func limits() throws {
        let lines = try Self.lines()
        // The words are assembled, so that this file does not contain them.
        let (limit, span) = (".time" + "Limit(.", "with" + "in: .")
        let own = lines.filter { line in
            let isLimit = line.text.contains(limit)
            let isCommon = line.text.contains(limit + "ofTest)") || line.text.contains(limit + "ofProof)")
            let isWait = line.text.contains("eventually(") && line.text.contains(span)
            return isLimit && !isCommon || isWait
        }
        let places = own.map(\.place)
        #expect(places.isEmpty)
        #expect(lines.count > 10_000)
    }
}
