import Foundation
import TestSupport
import Testing

@testable import Store

@Suite("Delivery states")
struct DeliveryStateTests {
    @Test("docs/delivery-states.md draws exactly the transitions of the code")
    func diagram() throws {
        let page = try Checkout.text("docs/delivery-states.md")
        let lines = page.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let arrows = lines.filter { $0.contains(" --> ") }
        var drawn: Set<String> = []
        for arrow in arrows { drawn.insert(arrow) }
        var coded: Set<String> = []
        for state in DeliveryState.beginnings { coded.insert("[*] --> \(state.rawValue)") }
        for state in DeliveryState.allCases {
            for next in state.successors { coded.insert("\(state.rawValue) --> \(next.rawValue)") }
        }
        #expect(drawn.subtracting(coded).isEmpty)
        #expect(coded.subtracting(drawn).isEmpty)
        #expect(arrows.count == drawn.count)
    }

    @Test("owed states allow a send, and terminal states do not")
    func owed() {
        for state in DeliveryState.allCases {
            if state.isOwed { #expect(state == .sending || state.successors.contains(.sending), "\(state)") }
            if state.successors.isEmpty { #expect(!state.isOwed, "\(state)") }
        }
    }

    @Test("the letters in the table match the code, and the view shows the state names")
    func letters() throws {
        let sql = try #require(Migration.all.first { $0.name == "0003_inbox" }).sql
        #expect(Set(DeliveryState.allCases.map(\.letter)).count == DeliveryState.allCases.count)
        let list = DeliveryState.allCases.map(\.sql).sorted().joined(separator: ", ")
        let last = try #require(sql.split(separator: "CHECK (state IN (").last)
        let constraint = last.prefix { $0 != ")" }
        #expect(constraint.split(separator: ", ").sorted().joined(separator: ", ") == list)
        for state in DeliveryState.allCases {
            let line = "WHEN \(state.sql) THEN '\(state.rawValue)'"
            #expect(sql.contains(line))
            #expect(DeliveryState(letter: state.letter) == state)
        }
    }
}
