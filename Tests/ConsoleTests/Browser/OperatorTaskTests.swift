import BellhopJSON
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    /// The tasks of a night on call, with the clicks and keys that each needs.
    ///
    /// Each begins on the status page after the sign-in. A press counts as a click, and each key counts once.
    @Suite("Tasks of an operator, counted")
    struct OperatorTaskTests {
        private static let mostClicks = 3
        private static let mostKeys = 12

        /// Performs and counts presses and keys.
        private struct Hands {
            let stage: ConsoleStage
            private(set) var clicks = 0
            private(set) var keys = 0

            init(_ stage: ConsoleStage) {
                self.stage = stage
            }

            /// Presses the last button or link with this text in the open dialog, or else on the page.
            mutating func click(_ words: String, in place: String = "dialog[open], #main, .menu, #toasts") async throws
            {
                let found = """
                    $$(`${$("dialog[open]") ? "dialog[open]" : "\(place)"}`)
                        .flatMap((part) => [...part.querySelectorAll("button, a")])
                        .findLast((one) => one.textContent.trim() === "\(words)" && !one.disabled && one.checkVisibility())
                    """
                try await stage.until("\(found) !== undefined", words)
                try await stage.ask("(\(found).click(), true)")
                clicks += 1
            }

            mutating func type(_ text: String) async throws {
                try await stage.browser.type(text)
                keys += text.count
            }

            mutating func press(_ key: WebDriver.Key) async throws {
                try await stage.browser.press([key])
                keys += 1
            }
        }

        private struct Effort: CustomStringConvertible {
            let task: String
            let clicks: Int
            let keys: Int

            var description: String { "| \(task) | \(clicks) | \(keys) |" }
        }

        /// Performs one task from the status page, and expects that it stays within the limits.
        private static func perform(
            _ task: String,
            on stage: ConsoleStage,
            isEdit: Bool = false,
            _ work: (inout Hands) async throws -> Void
        ) async throws {
            try await stage.open("status")
            var hands = Hands(stage)
            try await work(&hands)
            let effort = Effort(task: task, clicks: hands.clicks, keys: hands.keys)
            print(effort)
            #expect(effort.clicks <= mostClicks, "\(effort)")
            #expect(isEdit || effort.keys <= mostKeys, "\(effort)")
        }

        /// Searches for ada's page, which names the outcome of each delivery.
        private static func findAda(_ hands: inout Hands) async throws {
            try await hands.type("gp")
            try await hands.stage.until("document.activeElement?.name === 'app'", "the form has the focus")
            try await hands.type("drop")
            try await hands.press(.tab)
            try await hands.type("ada")
            try await hands.press(.enter)
        }

        @Test("why a user got nothing is answered without an event, for viewers, too", arguments: OperatorRole.allCases)
        func person(role: OperatorRole) async throws {
            let letter = DeadLetterSamples.rejected("ada-1", reason: "invalid-field", user: "ada")
            try await ConsoleStage.with([letter]) { stage in
                try await stage.console.servers.addRetry("ada", through: "expo", dueIn: 600)
                try await stage.signIn(role)
                try await Self.perform("why ada got nothing, as \(role)", on: stage) { hands in
                    try await Self.findAda(&hands)
                    try await stage.until("$('.item')?.textContent.includes('tried without success')")
                }
                try await Self.perform("why ada got nothing: a dead letter, as \(role)", on: stage) { hands in
                    try await Self.findAda(&hands)
                    try await hands.click("invalid-field")
                    try await stage.until("$('.error.big')?.textContent.startsWith('expected a value')")
                }
                try await stage.expectQuiet()
            }
        }

        @Test("failed pushes are replayed at a rate, and the replay is paused")
        func replay() async throws {
            let pushes = try (0..<201).map { try DeadLetterSamples.delivery(DeadLetterSamples.key(user: "u\($0)")) }
            try await ConsoleStage.with(pushes) { stage in
                try await stage.signIn()
                try await Self.perform("replay 201 failed pushes at 5/s", on: stage) { hands in
                    try await hands.type("gd")
                    try await hands.click("Replay")
                    try await stage.until("$('.deed') !== null && document.activeElement?.name === 'rate'")
                    try await hands.type("5")
                    try await stage.until("$('.deed') !== null && named('Replay 201') !== undefined", "a new preview")
                    try await hands.click("the provider works again")
                    try await stage.until("document.activeElement?.name === 'typed'")
                    try await hands.type("201")
                    try await hands.press(.enter)
                    try await stage.until("location.hash === '#/replays/1' && $('#main').textContent.includes('5/s')")
                }
                try await Self.perform("pause the replay", on: stage) { hands in
                    try await hands.type("gr")
                    try await hands.click("Replay 1")
                    try await hands.click("Pause")
                    try await stage.until("$('.headline .tag')?.textContent === 'paused'")
                }
                let rates = try await stage.console.servers.column("SELECT rate::text || ' ' || because FROM replays")
                #expect(rates == ["5 the provider works again"])
            }
        }

        @Test("a running fan-out is paused, and its campaign is stopped with a hold")
        func campaign() async throws {
            try await ConsoleStage.with { stage in
                _ = try await stage.console.servers.addFanout("f1", topic: nil, plannedTo: "u00010", planned: [true])
                try await stage.signIn()
                try await Self.perform("pause the running fan-out", on: stage) { hands in
                    try await hands.type("gf")
                    try await hands.click("Pause")
                    try await stage.until("$('.group .tag')?.textContent === 'paused'")
                }
                try await Self.perform("stop a bad campaign", on: stage) { hands in
                    try await hands.type("gf")
                    try await hands.click("Stop this campaign")
                    let pages = "1 page in progress may still be recorded"
                    try await stage.until("$('#toasts').textContent.includes('\(pages)')")
                }
                let acts = try await stage.console.servers.column("SELECT act FROM audit ORDER BY number")
                #expect(acts == ["fanout-pause", "hold-add"], "a paused fan-out is not paused again")
            }
        }

        @Test("a malformed event is corrected and sent in one dialog, and a draft survives the end of the session")
        func edit() async throws {
            let body = #"{"id":"e1","app":"drop","eventType":"system","title":"t","body":"b"}"#
            let letter = DeadLetterSamples.rejected("bad-1", reason: "missing-audience", body: body)
            try await ConsoleStage.with([letter]) { stage in
                try await stage.signIn()
                let fixed = #"{"id":"e1","app":"drop","eventType":"system","to":{"user":"ada"},"title":"t","body":"b"}"#
                try await stage.open("letter/bad-1")
                try await stage.press("Edit")
                try await stage.until("$('dialog textarea.code')?.value.includes('\"title\": \"t\"')")
                try await stage.write(fixed, into: "text")
                stage.console.time.advance(by: .seconds(13 * 3_600))
                try await stage.until("$('[name=token]') !== null", "the session has ended")
                let words = try await stage.ask("document.body.textContent.includes('ada')")
                #expect(words == false, "the draft is not on the screen")
                try await stage.browser.type(try #require(stage.console.tokens[.operator]))
                try await stage.browser.press([.enter])
                try await stage.until("$('.menu') && $('.body')?.ariaBusy === 'false'")
                try await Self.perform("correct a malformed event and send it", on: stage, isEdit: true) { hands in
                    try await stage.open("letter/bad-1")
                    try await hands.click("Edit")
                    try await stage.until("$('dialog textarea.code')?.value === `\(fixed)`", "the draft is there")
                    let lines: JSONValue = [#"+   "to": {"#, #"+     "user": "ada""#, "+   },"]
                    try await stage.until("$$('dialog .added').map((one) => one.textContent.trimEnd())", is: lines)
                    try await stage.write("they forgot the user", into: "because")
                    try await hands.click("Send the copy")
                    try await stage.until("location.hash === '#/replays/1'")
                    try await stage.until("$$('#main a').some((one) => one.textContent === 'What ada has now')")
                }
                let acts = try await stage.console.servers.column("SELECT act FROM audit ORDER BY number")
                #expect(acts.suffix(2) == ["reveal", "edit"])
            }
        }

        @Test("a reason that is chosen before the preview leads to the count, and Ctrl+Enter names the missing input")
        func missingCount() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 4")
                let choose = """
                    ((part, words) => [...$$(part).at(-1).querySelectorAll("button")].find((one) => one.textContent === words).click())
                    """
                try await stage.ask(
                    "(\(choose)('.group:nth-child(2)', 'Discard'), \(choose)('dialog', 'no longer needed'), true)"
                )
                try await stage.until("document.activeElement?.name === 'typed'")
                try await stage.ask(
                    "$('[name=because]').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true }))"
                )
                try await stage.until("$('dialog .fault').textContent === 'Type 14 to confirm.'")
                try await stage.browser.type("14")
                try await stage.until("$('dialog .fault').hidden && !$('dialog [type=submit]').disabled")
                try await stage.expectQuiet()
            }
        }

        @Test("the state of each provider is one step away")
        func provider() async throws {
            try await ConsoleStage.with { stage in
                var report = Heartbeat(
                    Heartbeat.Identity(id: "w1", role: "worker", version: "0.1.0", host: "h", process: 7),
                    catalogs: "same"
                )
                var activity = OutletActivity(app: "drop", provider: "expo")
                (activity.seconds, activity.accepted, activity.acceptedAt) = (60, 600, DeadLetterSamples.now)
                report.activities = [activity]
                try await HeartbeatStore(pool: stage.console.servers.pool).announce(report)
                try await stage.signIn()
                try await Self.perform("is a provider sick?", on: stage) { hands in
                    try await hands.type("gv")
                    try await stage.until("$('td .tag')?.textContent === 'accepts'")
                }
            }
        }
    }
}
