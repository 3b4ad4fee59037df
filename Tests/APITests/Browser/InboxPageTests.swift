import BellhopJSON
import BellhopRules
import Foundation
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("The notification centre")
    struct InboxPageTests {
        @Test("the list groups by day, pins high priority, and labels bell, dots and times as in drop's document")
        func list() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen) {
                    try await stage.open()
                    let bell = try await stage.ask("$('[part=bell]').ariaLabel")
                    #expect(bell == "3 uleste varsler")
                    let days = try await stage.texts("[part=day]")
                    #expect(days == ["VIKTIG", "I DAG", "I GÅR", "19.02.2026"])
                    let titles = try await stage.texts("[part=title]")
                    #expect(
                        titles == [
                            "Ny pålogging fra iPhone", "Overføring til Mama Jasmina fullført",
                            "QR-betaling hos Ahmetov Kebab", "Valutakurs oppdatert", "Nytt tilbud",
                        ]
                    )
                    let times = try await stage.texts("[part=time]")
                    #expect(
                        times == [
                            "I går kl. 19:10", "I dag kl. 14:32", "I dag kl. 12:05", "I går kl. 18:45",
                            "19.02.2026 kl. 09:00",
                        ]
                    )
                    let dots = try await stage.ask(
                        "$$('[part=dot]').map((dot) => [dot.role, dot.ariaLabel, dot.hidden])"
                    )
                    #expect(dots.array?.first == ["img", "Ulest", false])
                    let roles = try await stage.ask("$$('ul').every((list) => list.getAttribute('role') === 'list')")
                    #expect(roles == true)
                    let weights = try await stage.ask(
                        "$$('[part=title]').map((title) => getComputedStyle(title).fontWeight)"
                    )
                    #expect(weights.array?.first == "700" && weights.array?.dropFirst().contains("700") == false)
                    let colour = try await stage.ask("getComputedStyle($$('[part=icon]')[1]).color")
                    #expect(colour == "rgb(11, 110, 53)", "the catalogue's colour")
                    let title = try await stage.ask("[document.title, document.documentElement.lang]")
                    #expect(title.array?.last == "nb")
                    try await stage.expectQuiet()
                }
            }
        }

        @Test("a notification that woke from a snooze is on top, its day appears again below, and each card stays")
        func woken() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.deliver(
                    20,
                    InboxStage.Letter(title: "Kvittering", at: "2026-02-20T10:00:00Z", isRead: true)
                )
                _ = try await stage.api.servers.owner.run(
                    "UPDATE inbox SET snoozed_until = '2026-02-21T14:00:00Z' WHERE title = 'Valutakurs oppdatert'"
                )
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen) {
                    try await stage.open()
                    let days = try await stage.texts("[part=day]")
                    #expect(days == ["VIKTIG", "I GÅR", "I DAG", "I GÅR", "19.02.2026"])
                    let titles = try await stage.texts("[part=title]")
                    #expect(titles.count == 6)
                    #expect(titles.dropFirst().first == "Valutakurs oppdatert")
                    #expect(titles.contains("Kvittering"))
                }
            }
        }

        @Test("a list that fails to load after a resync event is loaded again shortly afterwards")
        func owed() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                let hurry = """
                    const later = setTimeout;
                    window.setTimeout = (work, wait) => later(work, wait >= 10_000 && wait <= 15_000 ? 50 : wait);
                    """
                try await stage.prepared(by: hurry) {
                    try await stage.open()
                    let failing = """
                        (inbox.model.load = () => {
                          delete inbox.model.load;
                          return Promise.reject(Object.assign(new Error(), { status: 503 }));
                        }, true)
                        """
                    try await stage.ask(failing)
                    try await stage.deliver(30, InboxStage.Letter(title: "Sent bud", at: "2026-02-21T15:00:00Z"))
                    try await stage.ask("(inbox.live.handler.event('resync', null), true)")
                    try await stage.until("$$('[part=title]').some(({ textContent }) => textContent === 'Sent bud')")
                }
            }
        }

        @Test("the token is removed from the address immediately, appears in no requested URL, and survives a reload")
        func token() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, InboxStage.Letter())
                let token = try stage.api.token("ada")
                try await stage.open(token: token)
                let address = try await stage.ask("location.href")
                #expect(address == .string("\(stage.origin)/"))
                let asked = try await stage.ask(
                    "performance.getEntriesByType('resource').map(({ name }) => name).join()"
                )
                #expect(asked.string?.contains("/api/notifications") == true)
                #expect(asked.string?.contains(token) == false)
                let isKept = try await stage.ask(
                    "[document.cookie, JSON.stringify(localStorage)].join().includes(arguments[0])",
                    .string(token)
                )
                #expect(isKept == false)
                try await stage.browser.call("POST", "refresh", [:])
                try await stage.until("$$('[part=item]').length === 1", "a reload stays signed in")
            }
        }

        @Test("visible notifications are marked read, and the order changes only when the user opens the page again")
        func reading() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.open()
                try await stage.until("$('[part=bell]').ariaLabel === '0 uleste varsler'", "the count falls")
                let count = "SELECT count(*) FROM notifications WHERE user_id = 'ada' AND read_at IS NULL"
                try await eventually("the server knows") { try await stage.api.servers.count(count) == 0 }
                let dots = "$$('[part=dot]').filter((dot) => !dot.hidden).length"
                let first = try await stage.ask("\(dots) === 3 && $('[part=title]').textContent")
                #expect(first == "Ny pålogging fra iPhone", "it stays where it was")
                try await stage.open()
                let later = try await stage.ask("[\(dots), $('[part=title]').textContent, $$('[part=day]').length]")
                #expect(later == [0, "Overføring til Mama Jasmina fullført", 3])
            }
        }

        @Test("a notification that arrives on an open page is on top, is announced, and leaves the focus in place")
        func arrival() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.open()
                try await stage.until("$('[part=bell]').ariaLabel === '0 uleste varsler'", "all are read")
                try await stage.ask("$$('a')[1].focus()")
                _ = try await stage.api.arrive(9)
                try await stage.api.announce()
                try await stage.until("$$('[part=title]')[1].textContent === 'Tittel 9'", "it is there")
                try await stage.until("$('.spoken').textContent === 'Nytt varsel: Tittel 9'", "it is said")
                let focus = try await stage.ask("inbox.shadowRoot.activeElement === $$('a')[2]")
                #expect(focus == true, "the reader is where they were")
                // Changes from another device appear here, too.
                _ = try await stage.api.call("PATCH", "/api/notifications", #"{"all":true,"state":"archived"}"#)
                try await stage.until("$('[part=empty]')?.textContent === 'Ingen varsler ennå'")
                try await stage.expectQuiet()
            }
        }

        @Test("the page shows a notice while it is offline, and catches up when the network returns")
        func offline() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, InboxStage.Letter())
                try await stage.open()
                try await stage.disconnect()
                try await stage.until(
                    "!$('[part=notice]').hidden && $('[part=notice]').textContent.startsWith('Du er frakoblet')"
                )
                try await stage.deliver(2, InboxStage.Letter(title: "Mens du var borte"))
                try await stage.reconnect()
                try await stage.until(
                    "$('[part=notice]').hidden && $('[part=title]').textContent === 'Mens du var borte'"
                )
            }
        }

        @Test("a link leads to the page's own site or the app's own scheme, and any other link leads to the start page")
        func links() async throws {
            try await InboxStage.with { stage in
                let home = "\(stage.origin)/"
                let corpus: [(String, String)] = [
                    ("/transactions?id=a%20b", "\(stage.origin)/transactions?id=a%20b"),
                    ("drop://transactions/tx_1", "drop://transactions/tx_1"),
                    ("\(stage.origin)/profile", "\(stage.origin)/profile"),
                    ("javascript:alert(1)", home), (" javascript:alert(1)", home), ("JaVaScRiPt:alert(1)", home),
                    ("java\tscript:alert(1)", home), ("data:text/html,<script>alert(1)</script>", home),
                    ("vbscript:x", home), ("file:///etc/passwd", home), ("blob:\(stage.origin)/x", home),
                    ("https://evil.example/x", home), ("//evil.example/x", home), ("\\\\evil.example\\x", home),
                    ("http:\\\\evil.example", home), ("mailto:a@example.com", home), ("padel://x", home),
                    ("\(stage.origin)@evil.example/", home), ("", home),
                ]
                for (number, (link, _)) in corpus.enumerated() {
                    let route: JSONValue = ["web": .string(link), "mobile": "/"]
                    try await stage.deliver(corpus.count - number, InboxStage.Letter(link: route))
                }
                try await stage.open()
                let found = try await stage.ask("$$('a').map((link) => link.href)")
                // All have the same time, so the ids decide the order, the last one first.
                let expected = corpus.map { JSONValue.string($0.1) }
                #expect(found == .array(expected))
                try await stage.click("a")
                try await eventually("it leads there") {
                    try await stage.browser.call("GET", "url") == .string("\(stage.origin)/transactions?id=a%20b")
                }
            }
        }

        @Test(
            "an empty inbox shows a text in the user's language",
            arguments: [
                ("nb", "Varsler", "Ingen varsler ennå"), ("sv-SE", "Notiser", "Inga notiser ännu"),
                ("en", "Notifications", "No notifications yet"),
            ]
        )
        func empty(locale: String, title: String, words: String) async throws {
            try await InboxStage.with { stage in
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"\#(locale)"}"#)
                try await stage.open()
                try await stage.until("$('[part=empty]')?.textContent === '\(words)' && document.title === '\(title)'")
                let heading = try await stage.texts("[part=heading]")
                #expect(heading == [title])
            }
        }

        @Test("the page shows a sign-in notice without a token and with a forged token")
        func signedOut() async throws {
            try await InboxStage.with { stage in
                try await stage.browser.go(to: stage.origin)
                try await stage.until("$('[part=empty]')?.textContent.length > 5 && !inbox.token")
                try await stage.browser.go(to: "about:blank")
                try await stage.browser.go(to: "\(stage.origin)/#token=\(try stage.api.token("ada"))x")
                try await stage.until("$('.notice').className === 'notice signed-out'")
            }
        }

        @Test("older notifications load on request, all are marked together, and times follow the table of cases")
        func more() async throws {
            try await InboxStage.with { stage in
                for number in 1...35 { try await stage.deliver(number, InboxStage.Letter(title: "Brev \(number)")) }
                try await stage.open()
                let count = try await stage.ask("$$('[part=item]').length")
                #expect(count == 30)
                try await stage.click("[part=more]")
                try await stage.until("$$('[part=item]').length === 35 && $('[part=more]').hidden")
                try await stage.click("[part=mark-all]")
                try await stage.until(
                    "$('[part=bell]').ariaLabel === '0 uleste varsler' && $('[part=mark-all]').hidden"
                )
                let unread = try await stage.api.unread()
                #expect(unread == 0)
                for row in try Self.timeWords() {
                    let arguments = ["at", "now", "zone", "language"].map { row[$0] ?? .null }
                    let words = try await stage.browser.run("return BellhopInbox.timeWords(...arguments)", arguments)
                    #expect(words["day"] == row["day"] && words["time"] == row["time"], "\(row)")
                }
            }
        }

        private static func timeWords() throws -> [JSONValue] {
            let text = try Checkout.text("Tests/Tables/time-words.json")
            return try JSONParser().parse(Array(text.utf8)).get().array ?? []
        }
    }
}
