import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("The list of fan-outs in the console")
    struct FanoutListTests {
        @Test("fan-outs keep their places while the page is open, and a new one comes first")
        func places() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                for event in ["e1", "e2"] { _ = try await servers.addFanout(event, plannedTo: "u00010") }
                try await stage.signIn(at: "#/fanouts")
                let card = "`${one.querySelector('code').textContent} ${one.querySelector('.tag').textContent}`"
                let cards = "$$('.group').map((one) => \(card)).join()"
                try await stage.until(cards, is: "e2 running,e1 running")
                try await stage.until("$('.lead').textContent === '2 fan-outs, running and paused ones first.'")
                let ended = "UPDATE fanouts SET state = 'finished', finished_at = now() WHERE event_id = 'e2'"
                _ = try await servers.owner.run(Statement(ended))
                _ = try await servers.addFanout("e3", state: .finished)
                try await stage.until(cards, is: "e3 finished,e2 finished,e1 running")
                try await stage.until("$('.lead').textContent.endsWith('; new ones are above.')")
                try await stage.open("holds")
                try await stage.open("fanouts")
                try await stage.until(cards, is: "e1 running,e3 finished,e2 finished")
                try await stage.expectQuiet()
            }
        }

        @Test("the stop of a campaign shows that it is in progress, and can be pressed again after a failure")
        func stopping() async throws {
            try await ConsoleStage.with { stage in
                _ = try await stage.console.servers.addFanout("e1", plannedTo: "u00010")
                try await stage.signIn(at: "#/fanouts")
                try await stage.until("named('Stop this campaign') !== undefined")
                // The answer of an act waits until the test gives it.
                let waiting = """
                    (window.past = window.fetch, window.calls = 0, window.fetch = (path, ...rest) =>
                        path.includes("/acts/") ? (window.calls += 1, new Promise((_, fail) => { window.fail = fail; }))
                            : window.past(path, ...rest), true)
                    """
                try await stage.ask(waiting)
                try await stage.ask("(named('Stop this campaign').focus(), named('Stop this campaign').click())")
                try await stage.until("named('Stopping …')?.ariaDisabled === 'true'")
                try await stage.until("document.activeElement === named('Stopping …')", "it keeps the focus")
                let loads = "performance.getEntriesByName(`${location.origin}/api/fanouts`).length"
                let before = try await stage.ask(loads).number?.int64 ?? 0
                try await stage.until("\(loads) > \(before) + 1", "the page was updated")
                let calls = try await stage.ask("(named('Stopping …').click(), window.calls)")
                #expect(calls == 1, "it is performed once")
                try await stage.ask("(window.fail(new Error()), true)")
                try await stage.until("$('#toasts .bad') !== null")
                try await stage.until("named('Stop this campaign')?.ariaDisabled === null")
                try await stage.ask("(window.fetch = window.past, true)")
                try await stage.press("Stop this campaign")
                let paused = "It begins no further page, and none is in progress. Hold 1 stops"
                try await stage.until("$('#toasts').textContent.includes('Fan-out 1 is paused. \(paused)')")
            }
        }

        @Test("a pause that comes too late states why nothing was paused, and asks for no reason")
        func tooLate() async throws {
            try await ConsoleStage.with { stage in
                let number = try await stage.console.servers.addFanout("e1", plannedTo: "u00010")
                try await stage.signIn(at: "#/fanouts/\(number)")
                try await stage.until("named('Pause') !== undefined")
                // The page is no longer refreshed.
                let silence = """
                    (window.past = window.fetch, window.fetch = (path, ...rest) =>
                        path.includes("/acts/") ? window.past(path, ...rest) : new Promise(() => {}), true)
                    """
                try await stage.ask(silence)
                let end = "UPDATE fanouts SET state = 'finished', finished_at = now()"
                _ = try await stage.console.servers.owner.run(Statement(end))
                try await stage.press("Pause")
                let reason = "is finished: all its records are in the app. Only a hold stops its unsent"
                try await stage.until("$('#toasts').textContent.includes('Fan-out \(number) \(reason)')")
                let offers = try await stage.ask("$$('#toasts button').length")
                #expect(offers == 0)
            }
        }

        @Test("the users of a fan-out are listed in parts, all of them or those to whom something was sent")
        func users() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                let number = try await servers.addFanout("e1", state: .finished, users: 102)
                for user in 100..<202 {
                    let isSent = user % 2 == 0
                    try await servers.addOutcome(
                        of: "e1",
                        to: "u\(user)",
                        state: isSent ? "delivered" : "suppressed",
                        reason: isSent ? nil : "type-muted"
                    )
                }
                try await stage.signIn(at: "#/fanouts/\(number)")
                let cells = "[...row.cells].slice(0, 2).map((cell) => cell.innerText).join(' ')"
                let rows = "$$('tbody tr').map((row) => \(cells))"
                let press = { (words: String) async throws in
                    let link = "$$('main a').find((one) => one.textContent === '\(words)')"
                    try await stage.until("\(link) !== undefined", words)
                    try await stage.ask("(\(link).click(), true)")
                }
                try await press("all")
                try await stage.until("\(rows).length === 100 && \(rows)[1] === 'u101 not sent'")
                try await press("Next users")
                try await stage.until("\(rows).join() === 'u200 sent,u201 not sent'")
                try await stage.until("!document.body.innerText.includes('Next users')")
                try await press("Show only the sent ones")
                try await stage.until("\(rows).length === 51 && \(rows).every((row) => /[02468] sent$/.test(row))")
                try await stage.until("$('tbody a').getAttribute('href') === '#/person/venues/u100'")
                try await stage.expectQuiet()
            }
        }

        @Test("the pages of fan-outs and replays refresh every two seconds while one of them runs")
        func pace() async throws {
            let files = try ["replays", "fanouts"].map { name in
                try Checkout.text("Sources/Console/WebAssets/assets/\(name).js")
            }
            let paces = """
                const [running, done] = [{ state: "running" }, { state: "finished", finishedAt: "2026-03-01T04:05:06Z" }];
                const scheduled = { ...running, scheduled: true };
                return [
                    ...[[running, done], [done], []].map((fanouts) => fanoutsView.pace({ fanouts })),
                    ...[running, done].map((one) => fanoutsView.pace({ fanout: 1, ...one })),
                    ...[[running, done], [scheduled], [done]].map((replays) => replaysView.pace({ replays })),
                    ...[running, scheduled, done].map((one) => replaysView.pace({ replay: 1, ...one })),
                ].join();
                """
            try await BrowserProgram.shared.withDriver { browser in
                try await browser.go(to: "about:blank")
                let found = try await browser.run((files + [paces]).joined(separator: "\n"))
                #expect(found.string == "2,3,3,2,10,2,5,5,1,5,30")
            }
        }
    }
}
