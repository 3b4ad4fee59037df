import BellhopJSON
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("The page of one replay")
    struct ReplayPageTests {
        @Test("the rate dialog begins with the rate and replaces it by the first key, and the audit names the new rate")
        func rate() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                let person = try await stage.console.signIn()
                let replay = JSONObject([("options", ["reason": "invalid-field", "rate": "3"])])
                _ = try await stage.console.act("replay", replay, as: person, because: "they corrected their clock")
                try await stage.signIn(at: "#/replays/1")
                try await stage.press("Rate …")
                try await stage.until("document.activeElement?.name === 'rate'")
                try await stage.browser.type("40")
                try await stage.write("it is slow", into: "because")
                try await stage.submit()
                let changed = "Changed the rate of replay 1 to 40 per second."
                try await stage.until("$('#toasts').textContent.includes('\(changed)')")
                let rates = try await stage.console.servers.column("SELECT rate::text FROM replays")
                #expect(rates == ["40"])
                try await stage.open("audit")
                try await stage.until("$('#main').textContent.includes('rate 40')")
                try await stage.expectQuiet()
            }
        }

        @Test("the replay of one push tells an operator what its user has now, and leads a viewer to the user's page")
        func userHas() async throws {
            let key = try DeadLetterSamples.key(user: "ada")
            let letter = DeadLetterSamples.delivery(key)
            try await ConsoleStage.with([letter]) { stage in
                let servers = stage.console.servers
                let id = Parameter.text(key.notification.notification.text)
                let notification = """
                    INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                    VALUES ('drop', 'ada', $1, 'e1', '', 'system', 't', 'b', 'normal')
                    """
                _ = try await servers.owner.run(Statement(notification), [id])
                let push = """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, attempts)
                    VALUES ('drop', 'ada', $1, 'push', '\(key.target)', 'failed', 'attempts-exhausted', 2)
                    """
                _ = try await servers.owner.run(Statement(push), [id])
                let person = try await stage.console.signIn()
                let items = JSONObject([("items", [.string(letter.deadID)])])
                _ = try await stage.console.act("replay", items, as: person)

                try await stage.signIn(at: "#/replays/1")
                try await stage.until("$$('#main a').some((one) => one.textContent === 'What ada has now')")
                let early = try await stage.ask("$('.has-now') === null")
                #expect(early == true, "nothing is said before the outcome")
                _ = try await servers.owner.run("UPDATE deliveries SET state = 'delivered', reason = NULL", [])
                let settled = "UPDATE replay_items SET state = 'settled', settled_at = now(), outcome = 'delivered'"
                _ = try await servers.owner.run(Statement(settled), [])
                _ = try await servers.owner.run("UPDATE replays SET state = 'done', finished_at = now()", [])
                let words = "/^ada has it in the app since [-0-9: ]+ UTC, not read\\. Push: delivered; 2 attempts\\.$/"
                try await stage.until("\(words).test($('.has-now')?.textContent)", "it is said")
                try await stage.until("$('.headline .tag.good')?.textContent === 'done'")

                try await stage.browser.go(to: "about:blank")
                try await stage.browser.tell("Network.clearBrowserCookies")
                try await stage.signIn(.viewer, at: "#/replays/1")
                let address = "#/person/drop/ada"
                try await stage.until("$$('#main a').some((one) => one.getAttribute('href') === '\(address)')")
                let hidden = try await stage.ask("$('.has-now') === null")
                #expect(hidden == true, "viewers have no explanations")
                try await stage.expectQuiet()
            }
        }

        @Test("a replay without progress has the time since its last outcome and the reason in place of a time left")
        func standstill() async throws {
            let letters = (1...40).map { DeadLetterSamples.rejected("l\($0)", reason: "missing-id", app: "drop") }
            try await ConsoleStage.with(letters, environment: ["BELLHOP_AMQP_URL": "amqp://127.0.0.1:1"]) { stage in
                let servers = stage.console.servers
                let person = try await stage.console.signIn()
                let replay = JSONObject([("options", ["reason": "missing-id"])])
                _ = try await stage.console.act("replay", replay, as: person)
                _ = try await servers.owner.run(
                    """
                    UPDATE replays SET started_at = now() - interval '1 min', resumed_at = now() - interval '1 min',
                        runner = 's', runner_until = now() + interval '1 h'
                    """
                )
                _ = try await servers.owner.run(
                    """
                    UPDATE replay_items SET state = 'settled', settled_at = now() - interval '8 s', outcome = 'recorded'
                    WHERE position <= 20
                    """
                )
                try await stage.signIn(at: "#/replays/1")
                let lead = "$$('.lead').map((one) => one.textContent).join(' ')"
                try await stage.until("/20 of 40 items settled, nothing settled for \\d+ s/.test(\(lead))")
                let why = "$('.problem')?.textContent.startsWith('It waits for the broker, which cannot be reached: ')"
                try await stage.until("\(why)")
                let estimate = try await stage.ask("\(lead).includes(' left')")
                #expect(estimate == false)
                try await stage.expectQuiet()
            }
        }

        @Test(
            "a finished replay lists the items that were not sent or that wait with their reasons, and names its group"
        )
        func unsent() async throws {
            let letters = (1...8).map { DeadLetterSamples.rejected("l\($0)", reason: "missing-id", app: "drop") }
            try await ConsoleStage.with(letters) { stage in
                let servers = stage.console.servers
                let person = try await stage.console.signIn()
                let prints = try await servers.column("SELECT DISTINCT fingerprint FROM dead_letters")
                let print = try #require(prints.first ?? nil)
                let group = JSONObject([("options", ["fingerprint": .string(print)])])
                _ = try await stage.console.act("replay", group, as: person)
                _ = try await servers.owner.run(
                    """
                    UPDATE replay_items SET state = 'settled', settled_at = now(),
                        outcome = CASE position WHEN 1 THEN 'delivered' WHEN 2 THEN 'deferred' ELSE 'suppressed' END,
                        detail = CASE position WHEN 1 THEN NULL WHEN 2 THEN 'held' ELSE 'type-muted' END
                    """
                )
                _ = try await servers.owner.run(
                    "INSERT INTO holds (app, type, provider, operator, because) VALUES ('drop', '', '', 'ada', 'x')",
                    []
                )
                _ = try await servers.owner.run("UPDATE replays SET state = 'done', finished_at = now()", [])
                try await stage.signIn(at: "#/replays/1")
                try await stage.until("$('.headline .tag')?.className === 'tag '", "it is not green")
                try await stage.until("$$('.lead').some((one) => one.textContent.includes(', 6 not sent'))")
                let row = "$$('[aria-label=\"not sent\"] tbody td').map((one) => one.textContent).join(' ')"
                try await stage.until(row, is: "suppressed type-muted 6 l3, l4, l5, l6, l7, …")
                let waiting =
                    "$$('[aria-label=\"waiting in the ledger\"] tbody td').map((one) => one.textContent).join(' ')"
                try await stage.until(waiting, is: "held 1 hold 1")
                let filter = "$$('.facts a').map((one) => one.textContent).join()"
                let name = "missing-id of drop \(print.prefix(8))"
                try await stage.until(filter, is: .string(name))
                try await stage.open("audit")
                try await stage.until("$$('td a').some((one) => one.textContent === '\(name)')")
                try await stage.expectQuiet()
            }
        }

        @Test(
            "the list pauses, resumes and cancels replays, a paused one changes its rate, and a cancelled one has its rest"
        )
        func list() async throws {
            let letters = (1...3).map { DeadLetterSamples.rejected("l\($0)") }
            try await ConsoleStage.with(letters) { stage in
                let servers = stage.console.servers
                let person = try await stage.console.signIn()
                let replay = JSONObject([("options", ["all": true, "rate": "3"])])
                _ = try await stage.console.act("replay", replay, as: person)
                try await stage.signIn(at: "#/replays")
                let buttons = "$$('tbody button').map((one) => one.textContent).join()"
                try await stage.until(buttons, is: "Pause,Cancel")
                try await stage.press("Pause")
                try await stage.until(buttons, is: "Resume,Cancel")
                try await stage.open("replays/1")
                try await stage.press("Rate …")
                try await stage.write("7", into: "rate")
                try await stage.write("it is slow", into: "because")
                try await stage.submit()
                try await stage.until("$('#main').textContent.includes('7/s')")
                let states = try await servers.column("SELECT state || ' ' || rate::text FROM replays")
                #expect(states == ["paused 7"], "a new rate does not resume it")
                try await stage.press("Resume")
                try await stage.write("go on", into: "because")
                try await stage.submit()
                try await stage.until("$('.headline .tag')?.textContent === 'running'")
                let sent =
                    "UPDATE replay_items SET state = 'settled', outcome = 'recorded', settled_at = now() WHERE position = 1"
                _ = try await servers.owner.run(Statement(sent))
                try await stage.open("replays")
                try await stage.press("Cancel")
                try await stage.write("a wrong one", into: "because")
                try await stage.submit()
                let row = "$$('tbody td').slice(5, 6).map((one) => one.textContent).join()"
                try await stage.until(row, is: "1, 2 left")
                try await stage.open("replays/1")
                try await stage.until("$('.lead b')?.textContent === '1 of 3 items replayed, 2 left unsent'")
                let unsent = "$$('[aria-label=\"not sent\"] tbody a').map((one) => one.textContent).join()"
                let ids = try await servers.column(
                    "SELECT dead_id FROM replay_items WHERE outcome = 'cancelled' ORDER BY position"
                ).compactMap { $0 }
                try await stage.until(unsent, is: .string(ids.joined(separator: ",")))
                try await stage.open("letter/\(ids[0])")
                let history = "$$('.timeline li div').map((one) => one.textContent).join()"
                try await stage.until(history, is: "not sentits replay 1 was cancelled")
                let acts = try await servers.column("SELECT act FROM audit ORDER BY number")
                #expect(acts == ["replay", "pause", "rate", "resume", "cancel"], "an unchanged rate is not recorded")
                try await stage.expectQuiet()
            }
        }

        @Test("a replay with a later start is scheduled, on its page and in the list")
        func scheduled() async throws {
            try await ConsoleStage.with([DeadLetterSamples.rejected("l1")]) { stage in
                let person = try await stage.console.signIn()
                let replay = JSONObject([("items", ["l1"]), ("options", ["at": "3h"])])
                _ = try await stage.console.act("replay", replay, as: person)
                try await stage.signIn(at: "#/replays/1")
                try await stage.until("$('.headline .tag')?.textContent === 'scheduled'")
                try await stage.until("/, created .+, starts in 2 h: /.test($('#main .lead').textContent)")
                try await stage.open("replays")
                let row = "$$('[aria-label=replays] tbody td').slice(0, 3).map((one) => one.textContent).join()"
                try await stage.until(row, is: "Replay 1,scheduled,in 2 h")
                try await stage.expectQuiet()
            }
        }

        @Test("the replay of one event that failed again names its dead letter as the state of its user")
        func failedAgain() async throws {
            var letter = DeadLetterSamples.rejected("l1", user: "ada")
            letter.cause.eventID = "e1"
            try await ConsoleStage.with([letter]) { stage in
                let servers = stage.console.servers
                let person = try await stage.console.signIn()
                let items = JSONObject([("items", ["l1"])])
                _ = try await stage.console.act("replay", items, as: person)
                let settled = "UPDATE replay_items SET state = 'settled', settled_at = now(), outcome = 'failed'"
                _ = try await servers.owner.run(Statement(settled), [])
                _ = try await servers.owner.run("UPDATE dead_letters SET state = 'open'", [])
                _ = try await servers.owner.run("UPDATE replays SET state = 'done', finished_at = now()", [])
                try await stage.signIn(at: "#/replays/1")
                let words = "ada: It is in the dead letters: intake, malformed-json: expected a value"
                try await stage.until("$('.has-now')?.textContent.startsWith('\(words)')")
                try await stage.until("$('.headline .tag')?.className === 'tag '", "it is not green")
                try await stage.expectQuiet()
            }
        }
    }
}
