import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("Stacks of alike notifications")
    struct StackTests {
        private static let titles = "$$('[part=title]').map((title) => title.textContent).join()"
        private static let fold = "$('.fold')"
        private static let text = "$$('.fold span:not(.spoken)').map((span) => span.textContent).filter(Boolean).join()"
        private static let toast = "$('[part=toast]').classList.contains('shown') && $('[part=toast] span').textContent"
        private static let focused = "inbox.shadowRoot.activeElement"

        /// Writes alike notifications, the latest with the highest number.
        private static func deliver(
            _ numbers: ClosedRange<Int>,
            at hour: Int = 12,
            unread: Set<Int> = [],
            on stage: InboxStage
        ) async throws {
            for number in numbers {
                let minute = number < 10 ? "0\(number)" : "\(number)"
                let letter = InboxStage.Letter(
                    title: "Brev \(number)",
                    at: "2026-02-21T\(hour):\(minute):00Z",
                    isRead: !unread.contains(number),
                    target: "account"
                )
                try await stage.deliver(hour * 100 + number, letter)
            }
        }

        /// Opens a page with six alike notifications, of which the user has read the older four.
        private static func opened(_ body: (InboxStage) async throws -> Void) async throws {
            try await InboxStage.with { stage in
                try await deliver(1...6, unread: [5, 6], on: stage)
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen) {
                    try await stage.open()
                    try await stage.until("\(titles) === 'Brev 6' && \(text) === '5 til,1 ulest'")
                    try await body(stage)
                }
            }
        }

        @Test("the latest of alike notifications stands for all; a button shows the others in place, and hides them")
        func unfolding() async throws {
            try await Self.opened { stage in
                #expect(try await stage.ask("\(Self.fold).ariaExpanded") == "false")
                #expect(try await stage.ask("$('.fold .spoken').textContent") == ", Overføringer")
                #expect(try await stage.ask("$('[part=bell]').ariaLabel") == "2 uleste varsler")
                try await stage.ask("($('.card').focus(), true)")
                try await stage.browser.press([.down])
                #expect(try await stage.ask("\(Self.focused) === \(Self.fold)") == true, "an arrow leads to the button")
                try await stage.browser.press([.enter])
                try await stage.until("\(Self.titles) === 'Brev 6,Brev 5,Brev 4,Brev 3,Brev 2,Brev 1'")
                #expect(try await stage.ask("[\(Self.fold).ariaExpanded, \(Self.text)]") == ["true", "Vis færre"])
                #expect(try await stage.ask("\(Self.focused) === \(Self.fold)") == true, "the focus stays")
                try await stage.browser.press([.enter])
                try await stage.until("\(Self.titles) === 'Brev 6' && \(Self.text) === '5 til,1 ulest'")
                try await stage.expectQuiet()
            }
        }

        @Test(
            "four alike notifications are a stack, and three, or others about something else or of another type, are not",
            arguments: [("aaaa", 1), ("aaa", 3), ("aaab", 4), ("aaAa", 4), ("aaaabbbb", 2), ("abababab", 8)]
        )
        func rule(kinds: String, rows: Int) async throws {
            try await InboxStage.with { stage in
                for (number, kind) in kinds.enumerated() {
                    let type = kind.isUppercase ? "qr_payment" : "transaction_complete"
                    let at = "2026-02-21T12:0\(number):00Z"
                    let letter = InboxStage.Letter(type: type, at: at, isRead: true, target: kind.lowercased())
                    try await stage.deliver(number + 1, letter)
                }
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen) {
                    try await stage.open()
                    #expect(try await stage.ask("$$('[part=item]').length === \(rows)") == true)
                    #expect(
                        try await stage.ask("$$('.fold').length") == .number(JSONNumber(Int64(rows < 3 ? rows : 0)))
                    )
                }
            }
        }

        @Test("the menu of a stack marks all of it as read and archives all of it, and each act can be undone")
        func acting() async throws {
            try await Self.opened { stage in
                try await stage.click(".stack [part=menu-button]")
                let labels = try await stage.texts("[role=menuitem] span")
                #expect(labels == ["Marker alle 6 som lest", "Arkiver alle 6"])
                #expect(try await stage.ask("$('.menu').ariaLabel") == "Flere valg for alle 6")
                try await stage.browser.press([.enter])
                try await stage.until("\(Self.toast) === '2 varsler er markert som lest' && \(Self.text) === '5 til'")
                try await eventually("it is stored") { try await stage.api.unread() == 0 }
                try await stage.click("[part=undo]")
                try await stage.until("\(Self.text) === '5 til,1 ulest'")
                try await eventually("it is stored") { try await stage.api.unread() == 2 }
                try await stage.click(".stack [part=menu-button]")
                try await stage.browser.press([.end, .enter])
                try await stage.until("\(Self.toast) === '6 varsler er arkivert' && $$('[part=item]').length === 0")
                try await stage.until("\(Self.focused) === $('[part=heading]')", "the focus is not lost")
                try await eventually("it is stored") {
                    try await stage.api.ids("/api/notifications?state=archived").count == 6
                }
                try await stage.click("[part=undo]")
                try await stage.until("\(Self.titles) === 'Brev 6' && \(Self.text) === '5 til,1 ulest'")
                #expect(try await stage.api.ids("/api/notifications?state=active").count == 6)
                try await stage.expectQuiet()
            }
        }

        @Test("the keys act on the whole stack, and a failed act leaves it as it was")
        func keys() async throws {
            try await Self.opened { stage in
                try await stage.ask("(inbox.client.base = 'http://127.0.0.1:9/', \(Self.fold).focus(), true)")
                try await stage.browser.type("e")
                try await stage.until("$('[part=toast]').classList.contains('fault')")
                try await stage.until("\(Self.titles) === 'Brev 6' && \(Self.text) === '5 til,1 ulest'")
                try await stage.ask("(inbox.client.base = location.origin, \(Self.fold).focus(), true)")
                try await stage.browser.type("u")
                try await stage.until("\(Self.text) === '5 til'")
                try await eventually("it is stored") { try await stage.api.unread() == 0 }
            }
        }

        @Test("a stack of more than a hundred notifications is archived and moved back by several calls")
        func many() async throws {
            try await InboxStage.with { stage in
                for hour in [10, 11, 12] { try await Self.deliver(10...59, at: hour, on: stage) }
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen) {
                    try await stage.open()
                    for count in [60, 90, 120, 150] {
                        try await stage.click("[part=more]")
                        try await stage.until("inbox.model.order.length === \(count) && !$('[part=more]').disabled")
                    }
                    try await stage.until("$$('[part=item]').length === 1 && \(Self.text) === '149 til'")
                    try await stage.ask("(\(Self.fold).focus(), true)")
                    try await stage.browser.type("e")
                    try await stage.until("\(Self.toast) === '150 varsler er arkivert'")
                    let left = "SELECT count(*) FROM inbox WHERE archived_at IS NULL"
                    #expect(try await stage.api.servers.count(left) == 0)
                    try await stage.click("[part=undo]")
                    try await eventually("all are back") { try await stage.api.servers.count(left) == 150 }
                }
            }
        }

        @Test("a notification that arrives becomes the latest of its stack; one that the user is at stays next to it")
        func arrival() async throws {
            try await InboxStage.with { stage in
                for number in 1...5 { _ = try await stage.api.arrive(number) }
                try await stage.prepared(by: InboxStage.unseen) {
                    try await stage.open()
                    try await stage.until("\(Self.titles) === 'Tittel 5' && \(Self.text) === '4 til,4 uleste'")
                    _ = try await stage.api.arrive(6)
                    try await stage.api.announce()
                    try await stage.until("\(Self.titles) === 'Tittel 6' && \(Self.text) === '5 til,5 uleste'")
                    try await stage.ask("($('.card').focus(), true)")
                    _ = try await stage.api.arrive(7)
                    try await stage.api.announce()
                    try await stage.until("\(Self.titles) === 'Tittel 7,Tittel 6' && \(Self.text) === '5 til,5 uleste'")
                    #expect(try await stage.ask("\(Self.focused) === $$('.card')[1]") == true, "the focus stays")
                    // Another viewing puts it behind the latest.
                    try await stage.ask("(\(Self.focused).blur(), true)")
                    try await stage.ask("document.dispatchEvent(new Event('visibilitychange'))")
                    try await stage.until("\(Self.titles) === 'Tittel 7'")
                    try await stage.expectQuiet()
                }
            }
        }

        @Test("no notification disappears into a stack while it is shown, until the user returns to the page")
        func forming() async throws {
            try await InboxStage.with { stage in
                for number in 1...3 { _ = try await stage.api.arrive(number) }
                try await stage.prepared(by: InboxStage.unseen) {
                    try await stage.open()
                    try await stage.until("\(Self.titles) === 'Tittel 3,Tittel 2,Tittel 1'")
                    _ = try await stage.api.arrive(4)
                    try await stage.api.announce()
                    try await stage.until("\(Self.titles) === 'Tittel 4,Tittel 3,Tittel 2,Tittel 1'")
                    try await stage.ask("document.dispatchEvent(new Event('visibilitychange'))")
                    try await stage.until("\(Self.titles) === 'Tittel 4' && \(Self.text) === '3 til,3 uleste'")
                }
            }
        }

        @Test("a stack on the screen counts as seen, and only its latest notification as read")
        func seen() async throws {
            try await InboxStage.with { stage in
                for number in 1...5 { _ = try await stage.api.arrive(number) }
                try await stage.open()
                let count = "SELECT count(*) FROM inbox WHERE"
                try await eventually("all are seen") {
                    try await stage.api.servers.count("\(count) seen_at IS NOT NULL") == 5
                }
                // drop marks at sight.
                try await eventually("one is read") {
                    try await stage.api.servers.count("\(count) read_at IS NOT NULL") == 1
                }
                try await stage.until("$('[part=bell]').ariaLabel === '4 uleste varsler'")
                let unfold = "(\(Self.fold).click(), dispatchEvent(new PointerEvent('pointermove')), true)"
                try await stage.ask(unfold)
                try await stage.until("$('[part=bell]').ariaLabel === '0 uleste varsler'", "the others are read")
            }
        }

        @Test("filters have their own stacks, and Back shows the list as it was")
        func filters() async throws {
            try await Self.opened { stage in
                try await stage.ask("(\(Self.fold).click(), true)")
                try await stage.until("$$('[part=item]').length === 6")
                try await stage.ask("($('.card').focus(), true)")
                try await stage.browser.press([.down])
                try await stage.click("[part=bell]")
                try await stage.until("\(Self.titles) === 'Brev 6,Brev 5' && $$('.fold').length === 0")
                try await stage.openSettings()
                try await stage.browser.call("POST", "back", [:])
                try await stage.until("location.hash === '#/unread' && \(Self.titles) === 'Brev 6,Brev 5'")
                try await stage.browser.call("POST", "back", [:])
                try await stage.until(
                    "location.hash === '' && $$('[part=item]').length === 6 && $$('.fold').length === 1"
                )
                let ids = (1...6).map { "\"\(APIFixture.id(1_200 + $0))\"" }.joined(separator: ",")
                _ = try await stage.api.call(
                    "PATCH",
                    "/api/notifications",
                    #"{"notificationIds":[\#(ids)],"state":"archived"}"#
                )
                try await stage.click("[name=archived]")
                try await stage.until("$$('[part=item]').length === 6 && $$('.fold').length === 1")
                try await stage.click(".stack [part=menu-button]")
                try await stage.until("$$('[role=menuitem] span').at(-1)?.textContent === 'Flytt tilbake alle 6'")
            }
        }

        @Test(
            "a stack is in the user's language, and fits the smallest phone",
            arguments: [("nb", "5 til,1 ulest"), ("sv", "5 till,1 oläst"), ("en", "5 more,1 unread")]
        )
        func languages(locale: String, text: String) async throws {
            try await Self.opened { stage in
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"\#(locale)"}"#)
                try await stage.browser.resize(width: 320, height: 844, isDark: true)
                try await stage.open()
                try await stage.until("\(Self.text) === '\(text)'")
                let fits = """
                    document.documentElement.scrollWidth <= innerWidth && [".fold", ".stack [part=menu-button]"]
                      .map((name) => $(name).getBoundingClientRect()).every(({ left, right, height }) =>
                        left >= 0 && right <= innerWidth && height >= 24)
                    """
                #expect(try await stage.ask(fits) == true)
            }
        }
    }
}
