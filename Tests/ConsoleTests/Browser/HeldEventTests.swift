import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("Held campaigns and open breakers in the console")
    struct HeldEventTests {
        @Test("the events behind a hold are listed with their counts, and a choice limits the discard to one of them")
        func choice() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                try await servers.holdVenues(because: "wrong prices")
                try await servers.addHeld(of: "campaign-7", to: ["a", "b", "c"])
                try await servers.addHeld(of: "other-offer", to: ["d"])
                try await stage.signIn(at: "#/holds")
                try await stage.press("Discard held deliveries")
                try await stage.until("document.activeElement?.name === 'event'")
                let events = "$$('[aria-label=\"Events that wait\"] button').map((one) => one.textContent).join()"
                try await stage.until(events, is: "campaign-7: 3,other-offer: 1")
                try await stage.until("$('.deed')?.textContent.includes('4 deliveries')")
                try await stage.press("campaign-7: 3")
                try await stage.until("$('.deed')?.textContent.includes('3 deliveries')")
                try await stage.write("recalled", into: "because")
                try await stage.submit()
                try await stage.until("$('#toasts').textContent.includes('Discarded 3 deliveries.')")
                let left = try await servers.column("SELECT user_id FROM deliveries WHERE outlet IS NOT NULL")
                #expect(left == ["d"])
                try await stage.open("audit")
                try await stage.until("$('#main').textContent.includes('result of act 1: hold-discard')")
                let undoes = try await stage.ask("$('#main').textContent.includes('undoes')")
                #expect(undoes == false)
                try await stage.expectQuiet()
            }
        }

        @Test(
            "the page of a stopped campaign offers the discard of its held deliveries and the release, and no second stop"
        )
        func stopped() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                _ = try await servers.addFanout("campaign-7", state: .finished, users: 3)
                for user in ["u1", "u2", "u3"] {
                    try await servers.addOutcome(of: "campaign-7", to: user, state: "deferred", reason: "held")
                }
                let queue = "UPDATE deliveries SET outlet = 'venues/fcm//opportunity', queued_at = now()"
                _ = try await servers.owner.run(Statement(queue))
                let sent =
                    "UPDATE ledger SET unknown_sends = 1 WHERE (person, id) IN (SELECT person, id FROM ledger LIMIT 1)"
                _ = try await servers.owner.run(Statement(sent))
                try await stage.signIn(at: "#/fanouts/1")
                try await stage.press("Stop this campaign")
                let gone = "Fan-out 1 was finished already. All its records are in the app. Hold 1 stops all pushes of"
                try await stage.until("$('#toasts').textContent.includes('\(gone)')")
                try await stage.until("named('Discard the 3 that wait') !== undefined")
                let buttons = "$$('#main .acts button').map((one) => one.textContent).join()"
                try await stage.until(buttons, is: "Discard the 3 that wait,Release hold 1,Add a reason")
                let main = try await stage.ask("$$('#main .acts .main').length")
                #expect(main == 0, "neither is primary")
                try await stage.press("Discard the 3 that wait")
                try await stage.until("$('[name=event]').value === 'campaign-7' && $('.deed') !== null")
                try await stage.write("recalled", into: "because")
                try await stage.submit()
                try await stage.until("$('#toasts').textContent.includes('Discarded 3 deliveries.')")
                try await stage.until(buttons, is: "Release hold 1,Add a reason")
                let arrived = "3 discarded; 1 of the unsent may have arrived: a send without an answer preceded"
                try await stage.until("$('.facts').textContent.includes('\(arrived)')")
                try await stage.press("Release hold 1")
                try await stage.write("the prices are right", into: "because")
                try await stage.submit()
                try await stage.until(buttons, is: "")
                try await stage.expectQuiet()
            }
        }

        @Test(
            "a fan-out that runs behind a hold offers its release, and the resumption names the hold before and after"
        )
        func resumed() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                _ = try await servers.addFanout("campaign-7", plannedTo: "u00010", planned: [true])
                try await servers.holdVenues(because: "wrong prices")
                try await stage.signIn(at: "#/fanouts")
                let buttons = "$$('.group .acts button').map((one) => one.textContent).join()"
                try await stage.until(buttons, is: "Stop this campaign,Pause,Release hold 1,Cancel")
                try await stage.press("Pause")
                try await stage.until("$('.group .tag')?.textContent === 'paused'")
                try await stage.press("Resume")
                let kept = "Hold 1 (venues) still keeps its pushes back: a release sends them."
                try await stage.until("$('dialog').textContent.includes('\(kept)')")
                try await stage.press("the cause is fixed")
                try await stage.submit()
                try await stage.until("$('#toasts').textContent.includes('Resumed fan-out 1. \(kept)')")
                try await stage.press("Release hold 1")
                try await stage.until("$('dialog h2')?.textContent === 'Release hold 1: venues'")
                try await stage.press("the cause is fixed")
                try await stage.submit()
                try await stage.until(buttons, is: "Stop this campaign,Pause,Cancel")
                try await stage.expectQuiet()
            }
        }

        @Test(
            "a finished fan-out with failed pushes is not shown as good, and has no stop if none of its pushes waits"
        )
        func failures() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                _ = try await servers.addFanout("campaign-7", state: .finished, users: 2)
                for user in ["u1", "u2"] {
                    try await servers.addOutcome(of: "campaign-7", to: user, state: "failed", reason: "UNREGISTERED")
                }
                try await stage.signIn(at: "#/fanouts/1")
                let tags = "$$('.headline .tag').map((one) => `${one.textContent} ${one.className}`).join()"
                try await stage.until(tags, is: "finished tag warn,2 of 2 pushes failed tag warn")
                let buttons = try await stage.texts("#main .acts button")
                #expect(buttons == [])
                try await stage.expectQuiet()
            }
        }

        @Test("ages go on while the data of a page stay the same")
        func ages() async throws {
            try await ConsoleStage.with { stage in
                let placed = "INSERT INTO holds (app, operator, because) VALUES ('venues', 'ada', 'wrong prices')"
                _ = try await stage.console.servers.owner.run(Statement(placed))
                try await stage.signIn(at: "#/holds")
                try await stage.until("(window.firstAge ??= $('#main time')?.textContent) !== undefined")
                try await stage.until("$('#main time').textContent !== window.firstAge")
                try await stage.expectQuiet()
            }
        }

        @Test("an open breaker has a link on the status, its backlog and next try on its row, and a button that tries")
        func breaker() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                try await servers.addHeld(of: "e1", to: ["a", "b"])
                let opened = """
                    INSERT INTO breakers (app, provider, reason, probe_at)
                    VALUES ('venues', 'fcm', 'UNAUTHENTICATED', now() + interval '5 min')
                    """
                _ = try await servers.owner.run(Statement(opened))
                try await stage.signIn()
                let problem = "$$('.problem').find((one) => one.textContent.includes('fcm refuses venues'))"
                try await stage.until("\(problem)?.textContent.includes('2 pushes wait, next try at')")
                try await stage.until("\(problem)?.querySelector('a.button')?.getAttribute('href') === '#/providers'")
                try await stage.open("providers")
                try await stage.until(
                    "/2 behind the breaker, next try at \\d\\d:\\d\\d:\\d\\d UTC/.test($('tbody').textContent)"
                )
                try await stage.press("Try now")
                try await stage.press("the cause is fixed")
                try await stage.submit()
                try await stage.until("$('#toasts').textContent.includes('one of the 2 that wait is sent')")
                let isDue = "behind the breaker, the next one is sent as a try"
                try await stage.until("$('tbody').textContent.includes('\(isDue)')")
                let acts = try await servers.column("SELECT act || ' ' || because FROM audit")
                #expect(acts == ["provider-probe the cause is fixed"])
                _ = try await servers.owner.run("UPDATE breakers SET reason = 'mass-death'")
                try await stage.until("$('tbody').textContent.includes('mass-death')")
                try await stage.press("Try now")
                try await stage.until("$('dialog').textContent.includes('reports as gone ends: correct our settings')")
                try await stage.expectQuiet()
            }
        }

        @Test(
            "bringing retries forward is refused before the operator is asked for anything while their provider fails"
        )
        func outage() async throws {
            try await ConsoleStage.with { stage in
                let servers = stage.console.servers
                for user in 10...19 { try await servers.addRetry("u\(user)", through: "fcm", dueIn: 610) }
                var report = Heartbeat(
                    Heartbeat.Identity(id: "w1", role: "worker", version: "0.1.0", host: "h", process: 7),
                    catalogs: "same"
                )
                let (since, latest) = (DeadLetterSamples.ago(40), DeadLetterSamples.ago(2))
                report.troubles = [
                    ProviderOutage(
                        app: "drop",
                        provider: "fcm",
                        word: "UNAVAILABLE",
                        since: since,
                        latest: latest,
                        answers: 120
                    )
                ]
                try await HeartbeatStore(pool: servers.pool).announce(report)
                _ = try await servers.owner.run("UPDATE processes SET seen_at = now() + interval '1 hour'")
                try await stage.signIn(at: "#/providers")
                try await stage.press("Bring forward")
                try await stage.until("$('dialog .fault')?.textContent.includes('each retry would lose an attempt')")
                let deed = try await stage.ask("$('.deed') === null && $('dialog [type=submit]').disabled")
                #expect(deed == true, "no consent is asked for")
            }
        }
    }
}
