import BellhopRules
import Testing

@Suite("docs/rules.md")
struct RulesPageTests {
    /// The rows of the table whose header begins with a cell.
    private func table(_ header: String) throws -> [[String]] {
        let lines = try Repository.text("docs/rules.md").split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.drop { !$0.hasPrefix("| \(header) |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        return rows.map { row in
            row.split(separator: "|").map { cell in
                cell.drop { $0 == " " }.split(separator: " ").joined(separator: " ")
            }
        }
    }

    @Test("it has every reason of a rule, and no other")
    func reasons() throws {
        let rows = try table("reason")
        let suppressions = Set(rows.filter { $0[1] != "`deferred`" && $0[1] != "`expired`" }.map { $0[0] })
        #expect(suppressions == Set(SuppressionReason.allCases.map { "`\($0.rawValue)`" }))
        let waits = Set(rows.filter { $0[1] == "`deferred`" }.map { $0[0] })
        #expect(waits == Set(Wait.Reason.allCases.map { "`\($0.rawValue)`" }))
    }

    @Test("it has every rule, in the order in which they are asked")
    func rules() throws {
        #expect(try table("| rule").map { $0[1] } == Rule.allCases.map { "`\($0.rawValue)`" })
    }

    @Test("it has every policy of quiet hours")
    func policies() throws {
        #expect(Set(try table("policy").map { $0[0] }) == Set(QuietHoursPolicy.allCases.map { "`\($0.rawValue)`" }))
    }
}
