import Foundation
import TestSupport

/// The page docs/situations.md, which shows the outputs in each situation.
struct SituationPage {
    private let sections: [Substring: [Substring]]

    init() throws {
        let lines = try Checkout.text("docs/situations.md").split(separator: "\n", omittingEmptySubsequences: false)
        var (sections, heading) = ([Substring: [Substring]](), Substring(""))
        for line in lines {
            if line.hasPrefix("## ") { heading = line.dropFirst(3) }
            sections[heading, default: []].append(line)
        }
        self.sections = sections
    }

    func report(of situation: Situation) throws -> SituationReport {
        let lines = try section(situation)
        return SituationReport(
            status: SituationReport.problems(in: try block("status", in: lines)),
            readiness: SituationReport.problems(in: try block("readyz", in: lines)),
            console: try block("console", in: lines).map { String($0) }
        )
    }

    /// The names in the section's line about alerts; empty if none fires.
    func alerts(of situation: Situation) throws -> [String] {
        let lines = try section(situation)
        guard let first = lines.firstIndex(where: { $0.hasPrefix("**Alert:**") }) else {
            throw ProofFailure("\(situation.rawValue) names no alert")
        }
        let text = lines[first...].prefix { !$0.isEmpty }.joined(separator: " ")
        return text.matches(of: /`(Bellhop[A-Za-z]+)`/).map { String($0.1) }
    }

    private func section(_ situation: Situation) throws -> [Substring] {
        guard let lines = sections[Substring(situation.rawValue)] else {
            throw ProofFailure("docs/situations.md has no section \(situation.rawValue)")
        }
        return lines
    }

    /// Returns the lines of the code block with this name.
    private func block(_ name: String, in lines: [Substring]) throws -> ArraySlice<Substring> {
        guard let start = lines.firstIndex(of: "```\(name)") else { throw ProofFailure("no block \(name)") }
        return lines[(start + 1)...].prefix { $0 != "```" }
    }
}
