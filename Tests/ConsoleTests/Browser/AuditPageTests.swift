import BellhopJSON
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("The audit page, and reasons that are given later")
    struct AuditPageTests {
        private static func giveReason(_ reason: String, on stage: ConsoleStage) async throws {
            try await stage.press("Add a reason")
            try await stage.write(reason, into: "because")
            try await stage.submit()
        }

        @Test("the reason of an own act can be given on the fan-out, on the hold and in the audit, as long as it lacks")
        func reasons() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                for event in ["e1", "e2"] {
                    _ = try await servers.addFanout(event, plannedTo: "u00010", planned: [true])
                }
                let others = """
                    INSERT INTO audit (operator, act, filter, items, because)
                    VALUES ('bo', 'fanout-pause', '{"app": "venues", "fanout": 2}', 1, 'no reason given yet')
                    """
                _ = try await servers.owner.run(Statement(others))
                try await stage.signIn(at: "#/fanouts/2")
                try await stage.until("named('Pause') !== undefined")
                let early = try await stage.ask("named('Add a reason') === undefined")
                #expect(early == true, "the act is another operator's")
                try await stage.open("fanouts/1")
                try await stage.press("Pause")
                try await stage.until("$('.headline .tag')?.textContent === 'paused'")
                try await Self.giveReason("wrong prices", on: stage)
                try await stage.until("$('#main').textContent.includes('ada paused it')")
                try await stage.until("named('Add a reason') === undefined")
                // The stop of a paused fan-out places a hold only.
                try await stage.press("Stop this campaign")
                try await stage.open("holds")
                try await Self.giveReason("a wrong audience", on: stage)
                try await stage.until("$('.group p')?.textContent === 'a wrong audience'")
                try await stage.until("named('Add a reason') === undefined")
                let person = try await stage.console.signIn()
                let none = "no reason given yet"
                let again: JSONValue = ["items": ["1"], "because": .string(none)]
                let stopped = try await stage.console.call("POST", "/api/acts/fanout-stop", again, as: person)
                #expect(stopped.status == 200, "\(stopped)")
                try await stage.open("audit")
                let buttons = "$$('tbody tr').map((row) => row.lastElementChild.textContent).join()"
                try await stage.until(buttons, is: "Add a reason,,,,,")
                try await Self.giveReason("to be sure", on: stage)
                try await stage.until(buttons, is: ",,,,,,")
                let acts = try await servers.column("SELECT act || ': ' || because FROM audit ORDER BY number")
                let expected = [
                    "fanout-pause: \(none)", "fanout-note: wrong prices", "hold-add: \(none)",
                    "hold-note: a wrong audience", "fanout-stop: \(none)", "fanout-note: to be sure",
                ]
                let own = Array(acts.compactMap { $0 }.dropFirst())
                #expect(own == expected)
                try await stage.expectQuiet()
            }
        }

        @Test("the filter of the audit offers every act that the audit can have")
        func acts() async throws {
            try await ConsoleStage.with { stage in
                try await stage.signIn(.viewer, at: "#/audit")
                let offered = try await stage.ask("$$('#acts option').map((one) => one.value)").array
                #expect(offered?.compactMap(\.string) == AuditAct.allCases.map(\.rawValue))
            }
        }

        @Test("the audit shows the time next to the age, and its filter is part of the address")
        func filtered() async throws {
            try await ConsoleStage.with { stage in
                let acts = """
                    INSERT INTO audit (operator, act, filter, items, because, at) VALUES
                        ('ada', 'discard', '{"app": "drop"}', 3, 'Ticket 4711', '2026-03-01 04:05:06Z'),
                        ('bo', 'edit', '{"app": "venues", "set": ["/id=1"]}', 1, 'their typo', now())
                    """
                _ = try await stage.console.servers.owner.run(Statement(acts))
                try await stage.signIn(.viewer, at: "#/audit")
                try await stage.until("$$('tbody tr').length === 2")
                let times = "$$('tbody tr td:nth-child(2)').map((one) => one.lastElementChild.textContent)"
                try await stage.until("/^\\d\\d:\\d\\d:\\d\\d UTC$/.test(\(times)[0])", "of today")
                try await stage.until("\(times)[1] === '2026-03-01 04:05:06 UTC'")
                let numbers = "$$('tbody tr td:first-child').map((one) => one.textContent).join()"
                for (field, value, found) in [("by", "BO", "2"), ("act", "discard", "1"), ("text", "/id=1", "2")] {
                    try await stage.open("audit")
                    try await stage.write(value, into: field)
                    try await stage.press("Filter")
                    try await stage.until("location.hash.includes(encodeURIComponent('\(value)'))")
                    try await stage.until(numbers, is: .string(found))
                }
                try await stage.open("audit?by=nobody")
                try await stage.until("$('.nothing')?.textContent.includes('Nothing matches')")
                try await stage.expectQuiet()
            }
        }
    }
}
