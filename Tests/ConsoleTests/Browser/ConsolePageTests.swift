import BellhopJSON
import Foundation
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("Pages of the console")
    struct ConsolePageTests {
        @Test("a wrong token gets a message, a valid one opens the status page, and signing out closes every page")
        func door() async throws {
            try await ConsoleStage.with { stage in
                try await stage.browser.go(to: stage.origin)
                try await stage.until("document.activeElement?.name === 'token'")
                try await stage.browser.type("bhop_wrong")
                try await stage.browser.press([.enter])
                try await stage.until("$('.fault')?.textContent === 'Unknown token.'")
                try await stage.signIn()
                let name = try await stage.texts(".who .name")
                #expect(name == ["ada"])
                let cookies = try await stage.ask("document.cookie")
                #expect(cookies == "", "no script sees the session")
                try await stage.browser.go(to: "\(stage.origin)/#/desk")
                try await stage.until(
                    "$('.nothing')?.textContent.includes('No dead letters')",
                    "a reload stays signed in"
                )
                try await stage.ask("$('[aria-label=\"Sign out\"]').click()")
                try await stage.until("$('[name=token]') !== null && $('.menu') === null")
            }
        }

        @Test("a viewer can read everything, and sees no button that changes anything")
        func viewer() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(.viewer)
                for place in ["desk", "letters", "letter/00-missing-audience", "holds", "audit", "replays", "fanouts"] {
                    try await stage.open(place)
                    let buttons = try await stage.texts("#main button")
                    let acts = Set(buttons).intersection([
                        "Replay", "Discard", "Edit", "Note", "Reveal", "Restore", "Undo", "Add a hold", "Release",
                    ])
                    #expect(acts.isEmpty, "\(place)")
                }
                try await stage.open("desk")
                try await stage.press("Dry run")
                try await stage.until("$('dialog .deed')?.textContent.includes('nothing was changed')")
                let deed = try await stage.texts("dialog .deed").first ?? ""
                #expect(deed.hasPrefix("If you replayed "), "the table below has the outcome of each")
                try await stage.open("explain?app=drop&user=ada&event=e1")
                try await stage.until("$('#main .nothing a')?.getAttribute('href') === '#/person/drop/ada'")
                try await stage.expectQuiet()
            }
        }

        @Test("an axis of seconds ends at the time that its label states, with half of it in the middle")
        func secondsAxis() async throws {
            let files = try ["words", "charts"].map { name in
                try Checkout.text("Sources/Console/WebAssets/assets/\(name).js")
            }
            let labels = """
                return [0, 3, 50, 61, 100, 130, 900, 5_000, 90_000, 900_000].map((largest) =>
                    [0.5, 1].map((share) => UNITS.s(share * ceiling(largest, "s"))).join(", ")).join("; ")
                    + "; " + [59, 100, 119, 120].map(span).join(", ");
                """
            try await BrowserProgram.shared.withDriver { browser in
                try await browser.go(to: "about:blank")
                let axes = try await browser.run((files + [labels]).joined(separator: "\n"))
                let short = "1 s, 2 s; 2 s, 4 s; 30 s, 60 s; 60 s, 2 min; 60 s, 2 min; 2 min, 4 min; 10 min, 20 min"
                #expect(axes.string == short + "; 1 h, 2 h; 1 d, 2 d; 10 d, 20 d; 59 s, 100 s, 119 s, 2 min")
            }
        }

        @Test("the charts state that a server is unavailable")
        func chartsWithoutBroker() async throws {
            try await ConsoleStage.with(environment: ["BELLHOP_AMQP_URL": "amqp://127.0.0.1:1"]) { stage in
                try await stage.signIn(at: "#/charts")
                let words = "The broker is unavailable: the lines end, and present values are unknown."
                try await stage.until("$('.problem span')?.textContent === '\(words)'")
                try await stage.expectQuiet()
            }
        }

        @Test("the page of the providers states that no worker reports, and links the status")
        func providersWithoutWorker() async throws {
            try await ConsoleStage.with { stage in
                try await stage.signIn(at: "#/providers")
                let start = "No worker has reported in the last half minute"
                try await stage.until("$('.problem span')?.textContent.startsWith('\(start)')")
                try await stage.until("$('.problem a')?.getAttribute('href') === '#/status'")
                try await stage.expectQuiet()
            }
        }

        @Test("the legend of a chart has a dash for a value that is unknown now")
        func unknownFigure() async throws {
            let files = try ["words", "elements", "charts"].map { name in
                try Checkout.text("Sources/Console/WebAssets/assets/\(name).js")
            }
            let legend = """
                return chart("t", "s", [{ name: "a", column: "x", colour: 1 }, { name: "b", column: "y", colour: 2 }],
                    { names: ["x", "y"], points: [[1, 5, 7], [2, null, 8]] }).querySelector(".legend").textContent;
                """
            try await BrowserProgram.shared.withDriver { browser in
                try await browser.go(to: "about:blank")
                let words = try await browser.run((files + [legend]).joined(separator: "\n"))
                #expect(words.string == "a –b 8 s")
            }
        }

        @Test("the list of items shows the total count and loads more items on request")
        func more() async throws {
            try await ConsoleStage.with((100..<160).map { DeadLetterSamples.rejected("letter-\($0)") }) { stage in
                try await stage.signIn(at: "#/letters")
                try await stage.until("$$('.items .item').length === 50")
                try await stage.until("$('.bar .lead').textContent === '60 items, 50 shown'")
                try await stage.ask("$$('#main a').find((one) => one.textContent === 'Show more').click()")
                try await stage.until("$$('.items .item').length === 60")
                try await stage.until("$('.bar .lead').textContent === '60 items'")
                try await stage.expectQuiet()
            }
        }

        @Test("an edit of many can be limited to a number of items")
        func limitedEdit() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 4")
                try await stage.pressInGroup("missing-audience", "Edit")
                try await stage.write("2", into: "limit")
                try await stage.write("/app=drop\n/to={\"topic\":\"venue:42\"}", into: "set")
                try await stage.until("$('dialog .dialog-foot .button:last-child')?.textContent === 'Edit 2'")
                try await stage.write("two of them, for a start", into: "because")
                try await stage.submit()
                try await stage.until("$('#toasts').textContent.includes('Edited 2 items. Replay 1 sends the copies.')")
                try await stage.expectQuiet()
            }
        }

        @Test("an edit of many links its replay, and an act without anything left to do states why")
        func linkedResult() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 4")
                try await stage.pressInGroup("missing-audience", "Edit")
                try await stage.write("/app=drop\n/to={\"topic\":\"venue:42\"}", into: "set")
                try await stage.until("$('dialog [name=typed]')?.closest('[hidden]') === null")
                try await stage.write("they forgot the user", into: "because")
                try await stage.write("14", into: "typed")
                try await stage.submit()
                try await stage.until("$('#toasts a')?.getAttribute('href') === '#/replays/1'")
                try await stage.until("$('#toasts').textContent.includes('Replay 1 sends the copies.')")
                let number = try await stage.console.servers.addFanout("e1", state: .paused, plannedTo: "u1")
                try await stage.open("fanouts/\(number)")
                try await stage.press("Resume")
                try await stage.until("$('.deed') !== null")
                _ = try await stage.console.servers.owner.run(
                    "UPDATE fanouts SET state = 'finished', finished_at = now()"
                )
                try await stage.write("go on", into: "because")
                try await stage.submit()
                try await stage.until(
                    "$('#toasts').textContent.includes('Fan-out \(number) is finished: all its records are in the app.')"
                )
            }
        }

        @Test("a group is discarded after its count and a reason are entered, and Undo in the audit restores it")
        func discard() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 4")
                try await stage.pressInGroup("missing-audience", "Discard")
                let deed = "This discards 14 items of no user: missing-audience of drop system."
                try await stage.until("$('.deed')?.textContent === '\(deed)'")
                let title = try await stage.texts("dialog h2")
                #expect(title == ["Discard 14 × missing-audience"])
                try await stage.write("their flood", into: "because")
                let early = try await stage.ask("named('Discard 14').disabled")
                #expect(early == true, "the count is not typed yet")
                try await stage.write("13", into: "typed")
                let wrong = try await stage.ask("named('Discard 14').disabled")
                #expect(wrong == true)
                try await stage.write("14", into: "typed")
                try await stage.press("Discard 14")
                try await stage.until("$$('.group').length === 3", "the group has gone")
                let audit = try await stage.console.servers.column("SELECT operator || ': ' || because FROM audit")
                #expect(audit == ["ada: their flood"])
                try await stage.open("audit")
                try await stage.press("Undo")
                try await stage.until("$('.deed')?.textContent.includes('restores 14 items')")
                try await stage.write("too hasty", into: "because")
                try await stage.write("14", into: "typed")
                try await stage.press("Undo 14")
                try await eventually("they are open again") {
                    try await stage.console.servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
                        == 24
                }
                let more = "$$('tbody tr').map((row) => row.lastElementChild.textContent).join()"
                try await stage.until(more, is: "Undo,Undone by act 2")
                try await stage.expectQuiet()
            }
        }

        @Test("groups keep their places while the page is open, and a selected text is not lost to an update")
        func places() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 4")
                let before = try await stage.texts(".group h2 a")
                #expect(before == ["invalid-field", "missing-audience", "malformed-json", "unknown-type"])
                try await stage.until(
                    "$('.lead').textContent.endsWith('in 4 groups, those with the most users first.')"
                )
                // The pointer is down while 20 more malformed ones arrive, and a new group of 30 users.
                try await stage.ask("(dispatchEvent(new PointerEvent('pointerdown')), true)")
                let more = (0..<20).map {
                    DeadLetterSamples.rejected(
                        "more-\($0)",
                        app: "venues",
                        error: "expected a value, found the end of the text"
                    )
                }
                let fresh = (0..<30).map {
                    DeadLetterSamples.rejected("new-\($0)", reason: "unknown-app", user: "v\($0)")
                }
                _ = try await DeadLetterStore(pool: stage.console.servers.pool).file(more + fresh)
                try await stage.until("performance.getEntriesByName(`${location.origin}/api/groups`).length > 1")
                let waiting = try await stage.ask("$$('.group').length")
                #expect(waiting == 4, "the page waits with the update")
                try await stage.ask("(dispatchEvent(new PointerEvent('pointerup')), true)")
                try await stage.until("$$('.group').length === 5")
                let after = try await stage.texts(".group h2 a")
                #expect(after == before + ["unknown-app"], "the new group is last although it has the most users")
                try await stage.until("$$('.group .count')[2].textContent === '25'")
                try await stage.until("$('.lead').textContent.endsWith('; new groups are below.')")
                let loads = try await stage.ask("performance.getEntriesByName(`${location.origin}/api/groups`).length")
                let selected = """
                    (getSelection().selectAllChildren($('.group .error')), getSelection().toString().length > 0)
                    """
                let isSelected = try await stage.ask(selected)
                #expect(isSelected == true)
                let last = DeadLetterSamples.rejected("last", reason: "unknown-app", user: "w")
                _ = try await DeadLetterStore(pool: stage.console.servers.pool).file([last])
                try await stage.until(
                    "performance.getEntriesByName(`${location.origin}/api/groups`).length > \(loads.number?.int64 ?? 0) + 1"
                )
                let kept = try await stage.ask("getSelection().toString().length > 0")
                #expect(kept == true, "the page waits with the update")
                try await stage.ask("(getSelection().removeAllRanges(), true)")
                try await stage.until("$$('.group .count')[4].textContent === '31'")
                try await stage.expectQuiet()
            }
        }

        @Test("a group of several apps names each of them, on its card and before an act")
        func composition() async throws {
            let error = "the app's template needs a value, found nothing"
            let counts: [(app: String, items: Int)] = [("drop", 6), ("venues", 3), ("padel", 1)]
            let mixed = counts.flatMap { app, count -> [DeadLetterItem] in
                (0..<count).map {
                    DeadLetterSamples.rejected("\(app)\($0)", reason: "invalid-field", app: app, error: error)
                }
            }
            try await ConsoleStage.with(mixed) { stage in
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 1")
                let card = try await stage.texts(".group h2 .muted").first ?? ""
                #expect(card == "intake · drop system 6 · venues system 3 · padel system 1")
                try await stage.press("Discard")
                let deed = "invalid-field of drop system (6), venues system (3), padel system (1)."
                try await stage.until("$('.deed')?.textContent.endsWith('\(deed)')")
                try await stage.expectQuiet()
            }
        }

        @Test("a console that does not answer is shown by the age of the page")
        func age() async throws {
            try await ConsoleStage.with { stage in
                try await stage.signIn(at: "#/holds")
                try await stage.until("$('.age').hidden")
                try await stage.ask("(window.fetch = () => new Promise(() => {}), true)")
                try await stage.until("!$('.age').hidden && /^\\d+ s old$/.test($('.age').textContent)")
                try await stage.expectQuiet()
            }
        }

        @Test("a dead letter is revealed and edited with a diff, and its replay is followed until it is cancelled")
        func edit() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/letter/00-missing-audience")
                try await stage.until("$('.headline h2')?.textContent === 'missing-audience'")
                let masked = try await stage.ask("!$('#main').textContent.includes('Payment received')")
                #expect(masked == true)
                try await stage.press("Edit")
                try await stage.until("$('dialog textarea.code')?.value.includes('Payment received')")
                // Numbers stay exact, and the text has several lines.
                try await stage.until(
                    "$('dialog textarea.code').value.includes('    \"transfer\": 9007199254740993\\n')"
                )
                let text =
                    #"{"id":"evt_new","app":"drop","eventType":"system","to":{"user":"u1"},"title":"t","body":"b"}"#
                try await stage.write(text, into: "text")
                try await stage.until("$$('dialog .added').some((line) => line.textContent.startsWith('+   \"to\"'))")
                try await stage.write("they forgot the user", into: "because")
                try await stage.press("Send the copy")
                try await stage.until(
                    "location.hash === '#/replays/1' && $('.headline h2')?.textContent === 'Replay 1'"
                )
                // The page updates while the replay progresses.
                try await stage.press("Pause")
                try await stage.until("$('.headline .tag')?.textContent === 'paused'", "without a reason")
                try await stage.ask("$('#toasts button').click()")
                try await stage.write("wait", into: "because")
                try await stage.press("Add")
                try await stage.until("!$('dialog')")
                try await stage.press("Resume")
                try await stage.write("20", into: "rate")
                try await stage.write("slower", into: "because")
                try await stage.press("Resume")
                try await stage.until("$('#main').textContent.includes('20/s')")
                try await stage.until("$('#toasts').textContent.includes('Resumed replay 1.')", "the act, not a state")
                try await stage.press("Rate …")
                try await stage.write("30", into: "rate")
                try await stage.write("it is well", into: "because")
                try await stage.press("Change the rate")
                try await stage.until("$('#main').textContent.includes('30/s')", "while it runs")
                try await stage.press("Cancel")
                try await stage.write("no", into: "because")
                try await stage.submit()
                try await stage.until("$('.headline .tag')?.textContent === 'cancelled'", "it is followed")
                let acts = try await stage.console.servers.column("SELECT act FROM audit ORDER BY number")
                #expect(acts == ["reveal", "edit", "pause", "replay-note", "rate", "resume", "rate", "cancel"])
                try await stage.open("audit")
                try await stage.until("$$('td code').some((one) => one.textContent === '/id=\"evt_new\"')")
                try await stage.expectQuiet()
            }
        }

        @Test("a body that is not JSON is compared as it is written, line by line")
        func notJSON() async throws {
            let head = #"{"id":"e1","app":"drop","eventType":"system","#
            let body = [head, #""to":{"user":"ada"}"#, #""title":"t","body":"b"}"#].joined(separator: "\n")
            try await ConsoleStage.with([DeadLetterSamples.rejected("comma", body: body)]) { stage in
                try await stage.signIn(at: "#/letter/comma")
                try await stage.press("Edit")
                try await stage.until("$('dialog textarea.code')?.value", is: .string(body))
                let fixed = body.replacing("}\n", with: "},\n")
                try await stage.write(fixed, into: "text")
                let lines: JSONValue = [#"- "to":{"user":"ada"}"#, #"+ "to":{"user":"ada"},"#]
                try await stage.until("$$('dialog .diff span').map((one) => one.textContent.trimEnd())", is: lines)
                try await stage.expectQuiet()
            }
        }

        @Test("the page follows a running replay without any input, until it has ended")
        func progress() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/desk?reason=malformed-json")
                try await stage.press("Replay")
                let deed = "This replays 5 items of no user: malformed-json of venues system."
                try await stage.until("$('.deed')?.textContent === '\(deed)'")
                try await stage.until("$('dialog .fault')?.textContent.startsWith('None of 5 items would be accepted')")
                try await stage.write("mended", into: "because")
                let isBlocked = try await stage.ask("named('Replay 5').disabled")
                #expect(isBlocked == true, "nothing would come of it")
                try await stage.ask("$('dialog [name=sure]').click()")
                try await stage.press("Replay 5")
                try await stage.until("$('.lead b')?.textContent === '0 of 5 items settled'")
                let settle = "UPDATE replay_items SET state = 'settled', settled_at = now(), outcome = "
                _ = try await stage.console.servers.owner.run(Statement(settle + "'recorded' WHERE position <= 2"), [])
                try await stage.until("$('.lead b')?.textContent === '2 of 5 items settled'")
                _ = try await stage.console.servers.owner.run(Statement(settle + "'failed' WHERE position > 2"), [])
                let end = "UPDATE replays SET state = 'done', finished_at = now()"
                _ = try await stage.console.servers.owner.run(Statement(end), [])
                try await stage.until("$('.headline .tag')?.textContent === 'done' && $('.progress .wrong') !== null")
                try await stage.expectQuiet()
            }
        }

        @Test("a hold is added and released, and a fan-out is paused")
        func brake() async throws {
            try await ConsoleStage.with { stage in
                try await stage.signIn(at: "#/holds")
                try await stage.press("Add a hold")
                try await stage.write("drop", into: "app")
                try await stage.write("the wrong campaign", into: "because")
                try await stage.press("Hold")
                try await stage.until("$('.group')?.textContent.includes('the wrong campaign')")
                try await stage.press("Release")
                try await stage.until("$('.deed')?.textContent === 'This releases the hold; nothing is held.'")
                try await stage.write("mended", into: "because")
                try await stage.until("$('dialog [type=submit]').textContent === 'Release'")
                try await stage.submit()
                try await stage.until("$('.nothing')?.textContent.includes('Nothing is held')")
                _ = try await stage.console.servers.addFanout("f1", plannedTo: "u00010", planned: [true])
                try await stage.open("fanouts")
                try await stage.press("Pause")
                try await stage.until("$('.group .tag')?.textContent === 'paused'", "without a question")
                let acts = try await stage.console.servers.column("SELECT act FROM audit ORDER BY number")
                #expect(acts == ["hold-add", "hold-release", "fanout-pause"])
                try await stage.press("Stop this campaign")
                let pages = "1 page in progress may still be recorded, up to 1,000 users each; their pushes wait behind"
                try await stage.until("$('#toasts').textContent.includes('\(pages)')")
                let holds = try await stage.console.servers.column("SELECT app || ' ' || type FROM holds")
                #expect(holds == ["venues opportunity"])
                try await stage.console.servers.holdVenues(because: "too early")
                try await stage.console.servers.addHeld(of: "f1", to: ["u1", "u2"])
                try await stage.until("$$('.group .tag')[1]?.textContent === 'held'")
                let left = "$$('.group .acts button').map((one) => one.textContent).join()"
                try await stage.until(left, is: "Resume,Discard what waits,Release hold 2,Add a reason,Cancel")
                try await stage.open("fanouts/1")
                try await stage.until("$('.problems')?.textContent.includes('2 deliveries of this fan-out wait')")
                try await stage.expectQuiet()
            }
        }

        @Test("the page of a user states the end of a pause, no end after it, and the types that are switched off")
        func pause() async throws {
            try await ConsoleStage.with { stage in
                let owner = stage.console.servers.owner
                let added = """
                    INSERT INTO notification_preferences (app, profile_id, preferences, source_time)
                    VALUES ('drop', 'ada', jsonb_build_object('pausedUntil', $1::text), now())
                    """
                _ = try await owner.run(Statement(added), [.text("2099-03-01T06:00:00Z")])
                try await stage.signIn(.viewer, at: "#/person/drop/ada")
                let row = "$$('dt').find((one) => one.textContent === 'Paused')?.nextElementSibling.textContent"
                try await stage.until("\(row)?.startsWith('until 2099-03-01')")
                let ended = """
                    UPDATE notification_preferences SET preferences = jsonb_build_object('pausedUntil', $1::text)
                    """
                _ = try await owner.run(Statement(ended), [.text("2020-03-01T06:00:00Z")])
                try await stage.open("person")
                try await stage.open("person/drop/ada")
                try await stage.until("\(row) === 'no'")
                let types = "$$('dt').find((one) => one.textContent === 'Types')?.nextElementSibling.textContent"
                try await stage.until("\(types) === 'None switched off'")
                let muted = "UPDATE notification_preferences SET preferences = '{\"enabled\": false}'"
                _ = try await owner.run(Statement(muted))
                try await stage.open("person")
                try await stage.open("person/drop/ada")
                try await stage.until("\(types) === 'All muted'")
                try await stage.expectQuiet()
            }
        }

        @Test("the page of a user lists the followed topics, the muted ones first, and the number of the others")
        func topics() async throws {
            try await ConsoleStage.with { stage in
                let follows = """
                    INSERT INTO follows (app, topic, user_id, muted, since, source_time)
                    SELECT 'drop', 'venue:' || n, 'ada', n = 40, now(), now() FROM generate_series(11, 40) AS n
                    """
                _ = try await stage.console.servers.owner.run(Statement(follows))
                try await stage.signIn(.viewer, at: "#/person/drop/ada")
                let card = "$$('.card').find((one) => one.querySelector('h2').textContent === 'Topics')"
                let items = "[...\(card).querySelectorAll('li')].map((one) => one.textContent)"
                try await stage.until("\(card) !== undefined && \(items).length === 21")
                try await stage.until("\(items)[0] === 'muted venue:40' && \(items)[1] === 'follows venue:11'")
                try await stage.until("\(items).at(-1) === 'and 10 more'")
                try await stage.expectQuiet()
            }
        }

        @Test("every function works by keyboard, and the focus returns to its place")
        func keyboard() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn()
                try await stage.browser.type("gd")
                try await stage.until("$$('.group').length === 4")
                try await stage.browser.type("jj")
                let second = try await stage.ask("document.activeElement === $$('[data-row]')[1]")
                #expect(second == true)
                try await stage.browser.press([.enter])
                try await stage.until("$$('.item').length === 14")
                try await stage.browser.type("jx")
                try await stage.until("$('.lead b')?.textContent === '1 chosen'", "immediately, without a request")
                try await stage.browser.type("?")
                try await stage.until("$('dialog[open] h2')?.textContent === 'Keyboard'")
                try await stage.browser.press([.escape])
                try await stage.until("$('dialog') === null")
                try await stage.browser.type("/")
                let search = try await stage.ask("document.activeElement === $('[data-search]')")
                #expect(search == true)
                try await stage.browser.type("jg nothing?")
                let written = try await stage.ask("$('[data-search]').value")
                #expect(written == "jg nothing?", "typed letters are not shortcuts")
                try await stage.expectQuiet()
            }
        }

        @Test("a page whose session has ended asks for the token and removes its content from the screen")
        func expired() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 4")
                stage.console.time.advance(by: .seconds(13 * 3_600))
                try await stage.ask("(location.hash = '#/letters', true)")
                try await stage.until(
                    "$('[name=token]') !== null && !document.body.textContent.includes('missing-audience')"
                )
                try await stage.until("$('.fault').textContent.startsWith('Your session has ended')")
            }
        }

        @Test("a page keeps its data if the database refuses an act, and the error states that it did not happen")
        func awayDuringAct() async throws {
            let (proxy, url) = try TCPProxy.beforeDatabase()
            defer { proxy.stop() }
            try await ConsoleStage.with(environment: ["BELLHOP_DATABASE_URL": url]) { stage in
                _ = try await stage.console.servers.addFanout("campaign-7", plannedTo: "u00010", planned: [true])
                try await stage.signIn(at: "#/fanouts")
                try await stage.until("$$('.group').length === 1")
                proxy.refuse(true)
                proxy.cutAll()
                try await stage.press("Pause")
                try await stage.until("$('#toasts .bad')?.textContent.includes('It did not happen')")
                try await stage.until("$('.away') && !$('.away').hidden")
                let rows = try await stage.ask("$$('.group').length")
                #expect(rows == 1, "the data stays")
                try await stage.until("$('.body').classList.contains('stale')")
                try await stage.until("$('.away').textContent.includes('The data shown may be old.')")
            }
        }

        @Test("a console without the database reports this, and shows its last known data")
        func away() async throws {
            let nowhere = ["BELLHOP_DATABASE_URL": "postgres://bellhop@127.0.0.1:1/nowhere"]
            try await ConsoleStage.with(environment: nowhere) { stage in
                try await stage.signIn()
                try await stage.until("$('.sights')?.textContent.includes('Database is away')")
                try await stage.open("desk")
                try await stage.until("$('.away') && !$('.away').hidden")
                let words = try await stage.ask("$('.away p').textContent")
                #expect(words == "The database is unavailable.", "no data is shown")
            }
        }
    }
}
