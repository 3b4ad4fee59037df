import BellhopJSON
import Foundation
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("Accessibility, layout and untrusted content of the console")
    struct ConsoleLookTests {
        private static let axe = ProcessInfo.processInfo.environment["BELLHOP_AXE"]
        /// The folder for screenshots, for review by eye.
        private static let pictures = ProcessInfo.processInfo.environment["BELLHOP_PICTURES"]

        private static let audit = """
            const kinds = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
            return axe.run(document, { runOnly: kinds })
                .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((node) =>
                    node.target.join(" ") + " " + node.failureSummary).join("; ")));
            """

        private static let places = [
            "status", "charts", "providers", "desk", "desk?reason=none", "letters", "letter/00-missing-audience",
            "replays", "replays/1", "fanouts", "fanouts/1", "fanouts/1?users=all", "holds", "person", "person/drop/ada",
            "person/drop/nobody",
            "explain", "explain?app=drop&user=ada&event=none", "audit", "audit?by=nobody",
        ]

        /// A state of a page, such as an open dialog: the page, the button that leads to it, and its sign.
        private struct State {
            let place: String
            let button: String
            let sign: String

            init(_ place: String, _ button: String, _ sign: String = "$('dialog[open] form') !== null") {
                self.place = place
                self.button = button
                self.sign = sign
            }
        }

        private static let states = [
            State("desk", "Replay", "$('dialog .scroller') !== null"), State("desk", "Discard", "$('.deed') !== null"),
            State("desk", "Edit"), State("desk", "Dry run", "$('dialog .scroller') !== null"),
            State("letters", "Choose all shown", "$('.item.ticked') !== null"),
            State("letters", "Note", "$('dialog form') !== null"),
            State("letter/00-missing-audience", "Reveal"),
            State("letter/00-missing-audience", "Edit", "$('dialog textarea.code') !== null"),
            State("letter/00-missing-audience", "Copy", "$('.toast') !== null"),
            State("providers", "Bring forward"), State("providers", "Try now"), State("replays/1", "Rate …"),
            State("replays/1", "Cancel"),
            State("fanouts/1", "Cancel"), State("fanouts/1", "Pause", "$('.toast .button') !== null"),
            State("fanouts/1", "Resume"),
            State("audit", "Add a reason"),
            State("holds", "Add a hold"), State("holds", "Release"), State("holds", "Discard held deliveries"),
        ]

        /// Fills the console with at least one example of everything that it shows.
        private static func fill(_ stage: ConsoleStage) async throws {
            let person = try await stage.console.signIn()
            let replay = JSONObject([("options", ["reason": "invalid-field", "rate": "1"])])
            _ = try await stage.console.act("replay", replay, as: person, because: "they corrected their clock")
            let values: JSONValue = [
                "/app=drop", #"/to={"topic":"venue:42"}"#,
                .string("/data/reference=\(String(repeating: "x", count: 90))"),
            ]
            let edit = JSONObject([("items", ["013-missing-audience"]), ("options", ["set": values])])
            _ = try await stage.console.act("edit", edit, as: person)
            let hold: JSONValue = ["options": ["app": "drop", "type": "promotional"], "because": "the wrong campaign"]
            _ = try await stage.console.call("POST", "/api/acts/hold-add", hold, as: person)
            var report = Heartbeat(
                Heartbeat.Identity(id: "w1", role: "worker", version: "0.1.0", host: "h", process: 7),
                catalogs: "same"
            )
            var activity = OutletActivity(app: "drop", provider: "expo")
            (activity.seconds, activity.accepted, activity.acceptedAt) = (60, 600, DeadLetterSamples.now)
            (activity.rejectedAt, activity.word) = (DeadLetterSamples.now, "DeviceNotRegistered")
            report.activities = [activity, OutletActivity(app: "padel", provider: "apns")]
            try await HeartbeatStore(pool: stage.console.servers.pool).announce(report)
            try await stage.console.servers.addRetry("ada", through: "expo", dueIn: 600)
            _ = try await stage.console.servers.addFanout(
                "campaign-7",
                users: 600,
                plannedTo: "u00600",
                planned: [true]
            )
            try await stage.console.servers.addOutcome(
                of: "campaign-7",
                to: "zoe",
                state: "suppressed",
                reason: "discarded",
                unknownSends: 1
            )
            let others = """
                WITH opened AS (
                    INSERT INTO breakers (app, provider, reason, probe_at)
                    VALUES ('padel', 'apns', 'InvalidProviderToken', now() + interval '5 min')
                ), recorded AS (
                    INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                    VALUES ('drop', 'ada', 'noti_0000000000000009', repeat('x', 180), '', 'system', 't', 'b', 'normal')
                ), sent AS (
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason)
                    VALUES ('drop', 'ada', 'noti_0000000000000009', 'push', 'sub_0000000000000001', 'failed',
                            repeat('DeviceNotRegistered', 6))
                )
                INSERT INTO events (app, id, content, planned_at)
                VALUES ('drop', repeat('y', 180), '{"eventType": "system", "to": {"users": ["ada"]}}', '2099-01-01Z')
                """
            _ = try await stage.console.servers.owner.run(Statement(others))
        }

        @Test(
            "axe-core finds no violation on any page and in any state, from phone to desktop, in light and dark mode",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: [390, 820, 1_280],
            [false, true]
        )
        func audited(width: Int, isDark: Bool) async throws {
            let source = try String(contentsOfFile: try #require(Self.axe), encoding: .utf8)
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await Self.fill(stage)
                // A toast that fades would be measured while it is half transparent.
                try await stage.browser.resize(width: width, height: 800, isDark: isDark, isStill: true)
                try await stage.browser.go(to: stage.origin)
                try await stage.until("$('[name=token]') !== null")
                try await Self.expectNothing("signing in", source, stage)
                try await stage.signIn()
                for place in Self.places {
                    try await stage.open(place)
                    try await Self.expectNothing(place, source, stage)
                }
                for state in Self.states {
                    try await stage.open(state.place)
                    try await stage.press(state.button)
                    try await stage.until(state.sign, state.button)
                    let name = "\(state.button) of \(state.place)"
                    try await Self.expectNothing(name, source, stage)
                    let fits = try await stage.ask("document.documentElement.scrollWidth <= innerWidth")
                    #expect(fits == true, "\(name) is wider than its window")
                    let page = name.replacing("/", with: "-").replacing(" ", with: "-")
                    try await Self.look("\(page)-\(isDark ? "dark" : "light")-\(width)", stage)
                    try await stage.ask("(document.querySelectorAll('dialog').forEach((one) => one.remove()), true)")
                }
                try await stage.browser.type("?")
                try await stage.until("$('dialog .keys') !== null")
                try await Self.expectNothing("the shortcuts", source, stage)
            }
        }

        @Test(
            "axe-core finds no violation on the pages of a viewer and without a database",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: [OperatorRole.viewer, .operator]
        )
        func auditedElsewhere(role: OperatorRole) async throws {
            let source = try String(contentsOfFile: try #require(Self.axe), encoding: .utf8)
            let nowhere = ["BELLHOP_DATABASE_URL": "postgres://bellhop@127.0.0.1:1/nowhere"]
            try await ConsoleStage.with(environment: role == .viewer ? [:] : nowhere) { stage in
                try await stage.browser.resize(width: 390, height: 800, isStill: true)
                try await stage.signIn(role)
                for place in ["status", "desk", "letters", "replays", "fanouts", "holds", "person/drop/ada", "audit"] {
                    try await stage.open(place)
                    try await Self.expectNothing(place, source, stage)
                }
            }
        }

        @Test(
            "the buttons of the edit dialog stay in view at any size",
            arguments: [(1_280, 800), (390, 720), (320, 568)]
        )
        func editFits(width: Int, height: Int) async throws {
            let fields = (0..<60).map { #""field\#($0)":"value \#($0)""# }.joined(separator: ",")
            let data = "\"title\":\"t\",\"body\":\"b\",\"data\":{\(fields)}"
            let body = "{\"id\":\"e1\",\"app\":\"drop\",\"eventType\":\"system\",\"to\":{\"user\":\"ada\"},\(data)}"
            try await ConsoleStage.with([DeadLetterSamples.rejected("long", body: body)]) { stage in
                try await stage.browser.resize(width: width, height: height, isStill: true)
                try await stage.signIn(at: "#/letter/long")
                try await stage.press("Edit")
                try await stage.until("$('dialog textarea.code') !== null")
                try await stage.write(body.replacing("value", with: "other"), into: "text")
                try await stage.until("$$('dialog .added').length === 60 && $$('dialog .removed').length === 60")
                let isSeen = """
                    ["Cancel", "Send the copy"].every((words) => {
                        const box = named(words).getBoundingClientRect();
                        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                        return box.top >= 0 && box.bottom <= innerHeight && named(words).contains(top);
                    })
                    """
                try await stage.until(isSeen, "both buttons are seen")
                let fits = try await stage.ask("$('dialog').scrollWidth <= $('dialog').clientWidth")
                #expect(fits == true)
                try await Self.look("edit-\(width)", stage)
            }
        }

        @Test("hidden characters of an id are shown by their names, and a long id stays within its row")
        func hidden() async throws {
            let id = "\u{202E}live\u{2066}" + String(repeating: "x", count: 180)
            try await ConsoleStage.with([DeadLetterSamples.rejected("l1", user: id)]) { stage in
                try await stage.browser.resize(width: 390, height: 800)
                try await stage.signIn(at: "#/letters")
                let shown = try await stage.texts(".item-words .muted bdi").last
                #expect(shown?.hasPrefix("user ⟨U+202E⟩live⟨U+2066⟩xxx") == true, "\(shown ?? "nothing")")
                let fits = try await stage.ask("$('.item-words').scrollWidth <= $('.item-words').clientWidth")
                #expect(fits == true)
            }
        }

        @Test("the title of the tab counts the problems, and a message of the server links the page it names")
        func title() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await Self.fill(stage)
                try await stage.signIn()
                try await stage.until("/^\\(\\d+\\) Status · Bellhop$/.test(document.title)")
                try await stage.open("desk")
                try await stage.until("document.title === 'Dead letters · Bellhop'")
                try await stage.open("fan-outs")
                try await stage.until("$('.nothing')?.textContent.startsWith('Unknown page')", "it is not the status")
                try await stage.open("desk")
                let answer = """
                    (window.fetch = async () => new Response(JSON.stringify(
                        { error: { code: "x", message: "wait for it, or bellhop dead-letters cancel 1" } }), { status: 409 }), true)
                    """
                try await stage.ask(answer)
                try await stage.press("Replay")
                try await stage.until("$('dialog .fault')?.textContent === 'wait for it, or “Cancel” of replay 1'")
                try await stage.until("$('dialog .fault a').getAttribute('href') === '#/replays/1'")
            }
        }

        @Test("pages of the documentation are links if their address is set, and text otherwise")
        func documentation() async throws {
            let page = "docs/runbooks/dead-letters.md#malformed-json"
            let setting = ["BELLHOP_DOCS_URL": "https://git.example.com/bellhop/"]
            try await ConsoleStage.with([DeadLetterSamples.rejected("l1")], environment: setting) { stage in
                try await stage.signIn(at: "#/letter/l1")
                let parts = "[one.textContent, one.href, one.target, one.rel].join(' ')"
                let link = "$$('.advice a').map((one) => \(parts)).join()"
                let wanted = "\(page) https://git.example.com/bellhop/\(page) _blank noreferrer"
                try await stage.until(link, is: .string(wanted))
                let answer = """
                    (window.fetch = async () => new Response(JSON.stringify(
                        { error: { code: "unavailable", message: "away; see docs/runbooks/database.md" } }), { status: 503 }), true)
                    """
                try await stage.ask(answer)
                try await stage.ask("(location.hash = '#/desk', true)")
                let fault = "$('.away details a')?.getAttribute('href')"
                try await stage.until(fault, is: "https://git.example.com/bellhop/docs/runbooks/database.md")
            }
            try await ConsoleStage.with([DeadLetterSamples.rejected("l1")]) { stage in
                try await stage.signIn(at: "#/letter/l1")
                try await stage.until("$('.advice')?.textContent.endsWith('(\(page))')")
                let links = try await stage.ask("$$('.advice a').length")
                #expect(links == 0)
            }
        }

        @Test("the icon of the tab is red on every page while something is broken, also while the tab is hidden")
        func icon() async throws {
            try await ConsoleStage.with { stage in
                let icon = "document.querySelector('link[rel=icon]').getAttribute('href')"
                try await stage.signIn(at: "#/holds")
                try await stage.until(icon, is: "/icon-bad.svg")
                let drawing = try await stage.ask("fetch('/icon-bad.svg').then((answer) => answer.status)")
                #expect(drawing == 200)
                let well = """
                    (window.trueFetch = window.fetch,
                    window.fetch = ((real) => async (path, options) => path === "/api/status"
                        ? new Response(JSON.stringify({ ...await (await real(path, options)).json(), problems: [], problemDetails: [] }))
                        : real(path, options))(window.fetch), true)
                    """
                try await stage.ask(well)
                try await stage.open("status")
                try await stage.until("$('.calm') !== null")
                try await stage.until(icon, is: "/icon.svg")
                // A hidden tab looks once a minute; here the minute is short.
                let hide = """
                    (Object.defineProperty(document, "hidden", { get: () => true }),
                    window.setTimeout = ((real) => (work, span) => real(work, span === 60_000 ? 100 : span))(window.setTimeout),
                    window.fetch = window.trueFetch, true)
                    """
                try await stage.ask(hide)
                try await stage.until(icon, is: "/icon-bad.svg")
                try await stage.until("/^\\(\\d+\\) Status · Bellhop$/.test(document.title)")
                try await stage.ask("$('[aria-label=\"Sign out\"]').click()")
                try await stage.until("$('[name=token]') !== null")
                try await stage.until(icon, is: "/icon.svg")
            }
        }

        private static func expectNothing(_ place: String, _ source: String, _ stage: ConsoleStage) async throws {
            try await stage.browser.run("if (!window.axe) { \(source); window.axe = axe; }")
            let found = try await stage.browser.run(audit)
            #expect(found == [], "\(place)")
        }

        @Test(
            "every page fits phone, narrow and wide windows, in light and dark mode",
            arguments: [("phone", 390), ("small", 821), ("middle", 1_000), ("narrow", 1_100), ("desktop", 1_280)]
        )
        func fits(name: String, width: Int) async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await Self.fill(stage)
                try await stage.signIn()
                for isDark in [false, true] {
                    try await stage.browser.resize(width: width, height: 900, isDark: isDark)
                    for place in Self.places {
                        try await stage.open(place)
                        let fits = try await stage.ask("document.documentElement.scrollWidth <= innerWidth")
                        #expect(fits == true, "\(place) is wider than its window")
                        // On a phone, tables scroll.
                        let parts =
                            ".item, .items, .groups, .group, .card, .plain, .filter, .figure"
                            + (width < 820 ? "" : ", .scroller")
                        let cut = try await stage.ask(Self.cut, .string(parts))
                        #expect(cut == [], "parts of \(place) are cut")
                        let page = place.replacing("/", with: "-").replacing("?", with: "-")
                        try await Self.look("\(page)-\(name)-\(isDark ? "dark" : "light")", stage)
                    }
                }
            }
        }

        /// The classes of parts that are wider than their space.
        private static let cut = """
            $$(arguments[0]).filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.className)
            """

        private static func look(_ name: String, _ stage: ConsoleStage) async throws {
            guard let pictures else { return }
            let picture = try await stage.browser.tell("Page.captureScreenshot", ["format": "png"])
            let data = picture["data"]?.string.flatMap { Data(base64Encoded: $0) }
            let bytes = try #require(data)
            try FileManager.default.createDirectory(atPath: pictures, withIntermediateDirectories: true)
            try bytes.write(to: URL(fileURLWithPath: pictures).appendingPathComponent("console-\(name).png"))
        }

        private static let corpus = [
            "<script>window.__ran=1</script>", "<img src=x onerror=window.__ran=1>", "\"><svg/onload=window.__ran=1>",
            "</ul><iframe srcdoc='<script>parent.__ran=1</script>'>", "javascript:window.__ran=1",
            "<style>*{display:none}</style>", "{{constructor.constructor('window.__ran=1')()}}", "&lt;b&gt;",
            "__proto__",
        ]

        @Test("untrusted content appears as text everywhere, and no script in it runs")
        func strangers() async throws {
            let letters = Self.corpus.enumerated().map { number, text in
                var item = DeadLetterSamples.rejected(
                    "item-\(number)",
                    reason: text,
                    app: text,
                    user: text,
                    error: text,
                    body: "{\"a\":1}"
                )
                item.origin.routingKey = text
                return item
            }
            try await ConsoleStage.with(letters) { stage in
                try await stage.signIn(at: "#/desk")
                let shown = try await stage.texts(".group h2 a")
                #expect(Set(shown) == Set(Self.corpus))
                let errors = try await stage.texts(".group .error")
                #expect(Set(errors) == Set(Self.corpus))
                try await stage.open("letters")
                let items = try await stage.texts(".item h2 a")
                #expect(Set(items) == Set(Self.corpus))
                for number in Self.corpus.indices {
                    try await stage.open("letter/item-\(number)")
                    let words = try await stage.texts(".error.big")
                    #expect(words == [Self.corpus[number]])
                }
                let strange = try await stage.ask("$$('#main script, #main iframe, #main style, #main img').length")
                #expect(strange == 0)
                let ran = try await stage.ask("window.__ran ?? null")
                #expect(ran == .null)
                try await stage.expectQuiet()
            }
        }
    }
}
