import TestSupport
import Testing

@Suite(
    "Situations",
    .limitedProofConcurrency,
    .serialized,
    .enabled(if: Proof.hasServers, Proof.absence),
    .timeLimit(.ofProof)
)
struct SituationTests {
    @Test(
        "status, readiness and console report each situation as docs/situations.md shows",
        arguments: Situation.allCases
    )
    func reported(_ situation: Situation) async throws {
        let page = try SituationPage().report(of: situation)
        try await SituationStage.with(situation) { stage in
            try await eventually("\(situation.rawValue): /readyz") {
                try await stage.readiness()
            } is: {
                $0 == page.readiness
            }
            try await eventually("\(situation.rawValue): status") {
                try await stage.status()
            } is: {
                $0 == page.status
            }
            try await eventually("\(situation.rawValue): console") {
                let (texts, headings) = try await stage.consoleProblems()
                return texts == page.status ? headings : texts
            } is: {
                $0 == page.console
            }
        }
    }

    @Test("the page names only alerts that exist, and one for each situation that stops events")
    func alerts() throws {
        let page = try SituationPage()
        let rules = try Checkout.text("deploy/prometheus/alerts.yml")
        for situation in Situation.allCases {
            let named = try page.alerts(of: situation)
            let unknown = named.filter { !rules.contains("- alert: \($0)\n") }
            #expect(unknown == [], "\(situation.rawValue)")
            #expect(named.isEmpty == [.nothingWrong].contains(situation), "\(situation.rawValue)")
        }
    }
}
