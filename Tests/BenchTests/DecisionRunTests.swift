import CommandLineSupport
import Foundation
import Testing

@testable import Bench

@Suite("bellhop bench decision")
struct DecisionRunTests {
    @Test("the run needs no servers, and its decisions match the workload's own count")
    func measures() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            let answer = await prompt.run("bench", "decision", "--events", "1500", "--users", "400", "--json")
            #expect(answer.code == .done, "\(answer.complaints)")
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(answer.output.utf8)) as? [String: Any]
            )
            #expect(report["pairs"] as? Int == 1_500)
            #expect(report["pushes"] as? Int == report["pushesExpected"] as? Int)
            #expect((report["pushes"] as? Int ?? 0) > 0)
            #expect((report["microsecondsPerPair"] as? Double ?? 0) > 0)
        }
    }

    @Test("a count that differs from the expected one is reported as a failure")
    func wrong() {
        let run = DecisionRun(workload: Workload(seed: 1, events: 0, users: 5, utcHour: 0), pairs: 10)
        let report = run.report(users: 5, sends: 7, of: 8, seconds: 0.00002, load: nil)
        #expect(!report.isRight)
        #expect(report.text.contains("expected 8"))
        #expect(report.text.contains("2.00 µs"))
    }

    @Test("the run without catalogues is a configuration error")
    func noCatalogues() async {
        #expect(await Prompt().run("bench", "decision").code == .configuration)
        #expect(await Prompt().run("bench", "decisions").code == .usage)
    }
}
