import BellhopRules
import Testing

@Suite("docs/rules.md")
struct RulesPageTests {
    /// Returns the rows of the table whose header begins with this cell.
    private func table(_ header: String) throws -> [[String]] {
        let lines = try Repository.text("docs/rules.md").split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.drop { !$0.hasPrefix("| \(header) |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        return rows.map { row in
            row.split(separator: "|").map { cell in
                cell.drop { $0 == " " }.split(separator: " ").joined(separator: " ")
            }
        }
    }

    @Test("the page has every reason of a rule, and no other")
    func reasons() throws {
        let rows = try table("reason")
        let suppressions = Set(rows.filter { $0[1] != "`deferred`" && $0[1] != "`expired`" }.map { $0[0] })
        #expect(suppressions == Set(SuppressionReason.allCases.map { "`\($0.rawValue)`" }))
        let waits = Set(rows.filter { $0[1] == "`deferred`" }.map { $0[0] })
        #expect(waits == Set(Wait.Reason.allCases.map { "`\($0.rawValue)`" }))
    }

    @Test("the page has every rule, in the order of evaluation")
    func rules() throws {
        #expect(try table("rule").map { $0[0] } == Rule.allCases.map { "`\($0.rawValue)`" })
    }

    @Test("the page has every policy of quiet hours")
    func policies() throws {
        #expect(Set(try table("policy").map { $0[0] }) == Set(QuietHoursPolicy.allCases.map { "`\($0.rawValue)`" }))
    }
}
