import BellhopJSON
import TestSupport
import Testing
import IntegrationSupport

extension BrowserTests {
    @Suite("Actions on a notification")
    struct ActTests {
        private static let titles = "$$('[part=title]').map((title) => title.textContent).join()"
        private static let toast = "$('[part=toast]').classList.contains('shown') && $('[part=toast] span').textContent"

        /// Opens a page with three read notifications, the latest with the highest number.
        private static func opened(on stage: InboxStage, _ body: () async throws -> Void) async throws {
            for number in 1...3 {
                let at = "2026-02-21T1\(number):00:00Z"
                try await stage.deliver(number, InboxStage.Letter(title: "Brev \(number)", at: at, isRead: true))
            }
            try await stage.prepared(by: InboxStage.unseen) {
                try await stage.open()
                try await stage.until("\(titles) === 'Brev 3,Brev 2,Brev 1'")
                try await body()
            }
        }

        @Test("the keys archive, mark and snooze the focused notification, and each act can be undone")
        func keys() async throws {
            try await InboxStage.with { stage in
                try await Self.opened(on: stage) {
                    let focused = "inbox.shadowRoot.activeElement"
                    try await stage.ask("$('.card').focus()")
                    try await stage.browser.type("je")
                    try await stage.until("\(Self.titles) === 'Brev 3,Brev 1' && \(Self.toast) === 'Arkivert'")
                    let place = try await stage.ask("\(focused).querySelector('[part=title]').textContent")
                    #expect(place == "Brev 1", "the focus moves to the next one")
                    #expect(try await stage.api.ids("/api/notifications?state=archived") == [APIFixture.id(2)])
                    try await stage.click("[part=undo]")
                    try await stage.until("\(Self.titles) === 'Brev 3,Brev 2,Brev 1'")
                    try await stage.ask("$('.card').focus()")
                    try await stage.browser.type("u")
                    try await stage.until("!$('[part=dot]').hidden && \(Self.toast) === 'Markert som ulest'")
                    try await eventually("it is stored") { try await stage.api.unread() == 1 }
                    try await stage.browser.type("u")
                    try await stage.until("$('[part=dot]').hidden && \(Self.toast) === 'Markert som lest'")
                    try await stage.browser.type("h")
                    try await stage.until("\(focused)?.textContent === 'I én time'")
                    try await stage.browser.press([.enter])
                    try await stage.until("\(Self.titles) === 'Brev 2,Brev 1' && \(Self.toast) === 'Utsatt'")
                    try await eventually("it is stored") {
                        try await stage.api.ids("/api/notifications?state=snoozed") == [APIFixture.id(3)]
                    }
                    try await stage.click("[part=undo]")
                    try await stage.until("\(Self.titles) === 'Brev 3,Brev 2,Brev 1' && \(Self.toast) === 'Angret'")
                    try await eventually("it is as before, also read") { try await stage.api.unread() == 0 }
                    try await stage.expectQuiet()
                }
            }
        }

        @Test("the menu turns off the notification's type, and only this one")
        func muting() async throws {
            try await InboxStage.with { stage in
                try await Self.opened(on: stage) {
                    try await stage.click("[part=menu-button]")
                    let labels = try await stage.texts("[role=menuitem] span")
                    #expect(labels == ["Marker som ulest", "Utsett", "Arkiver", "Slå av «Overføringer»"])
                    try await stage.browser.press([.end, .enter])
                    try await stage.until("\(Self.toast) === '«Overføringer» er slått av'")
                    let off = try await stage.api.call("GET", "/api/preferences")["eventToggles"]
                    #expect(off?["transaction_complete"] == false && off?["qr_payment"] == true)
                    try await stage.click("[part=undo]")
                    try await eventually("it is on again") {
                        let toggles = try await stage.api.call("GET", "/api/preferences")["eventToggles"]
                        return toggles?["transaction_complete"] == true
                    }
                }
            }
        }

        @Test("filters and settings have their own address, and Back leads to the list")
        func filters() async throws {
            try await InboxStage.with { stage in
                try await Self.opened(on: stage) {
                    let body = #"{"notificationIds":["\#(APIFixture.id(1))"],"state":"archived"}"#
                    _ = try await stage.api.call("PATCH", "/api/notifications", body)
                    try await stage.click("[name=archived]")
                    try await stage.until("\(Self.titles) === 'Brev 1' && location.hash === '#/archived'")
                    try await stage.browser.call("POST", "refresh", [:])
                    try await stage.until("\(Self.titles) === 'Brev 1'", "a reload keeps the filter")
                    try await stage.ask("($('.card').focus(), true)")
                    try await stage.browser.type("e")
                    try await stage.until("$('[part=empty]')?.textContent === 'Arkivet er tomt'")
                    try await stage.click("[name=snoozed]")
                    try await stage.until("$('[part=empty]')?.textContent === 'Ingen utsatte varsler'")
                    try await stage.openSettings()
                    try await stage.browser.call("POST", "back", [:])
                    try await stage.until("location.hash === '#/snoozed' && $('.settings') === null")
                    try await stage.browser.call("POST", "back", [:])
                    try await stage.until("location.hash === '' && \(Self.titles) === 'Brev 3,Brev 2,Brev 1'")
                }
            }
        }

        @Test("a failed act is undone and reported, and can be repeated")
        func failed() async throws {
            try await InboxStage.with { stage in
                try await Self.opened(on: stage) {
                    try await stage.ask("(inbox.client.base = 'http://127.0.0.1:9/', $('.card').focus(), true)")
                    try await stage.browser.type("e")
                    try await stage.until("$('[part=toast]').classList.contains('fault')")
                    try await stage.until("\(Self.titles) === 'Brev 3,Brev 2,Brev 1'")
                    try await stage.ask("(inbox.client.base = location.origin, true)")
                    try await stage.click("[part=undo]")
                    try await stage.until("\(Self.titles) === 'Brev 2,Brev 1' && \(Self.toast) === 'Arkivert'")
                }
            }
        }

        @Test("an ended token leaves the list with a notice, whose button asks the page to sign in")
        func ended() async throws {
            try await InboxStage.with { stage in
                try await Self.opened(on: stage) {
                    let end = """
                        ((inbox.renewToken = async () => null), (window.__wishes = 0),
                        inbox.addEventListener("bellhop-sign-in", () => (window.__wishes += 1)),
                        (window.fetch = async () => new Response("{}", { status: 401 })), true)
                        """
                    try await stage.ask(end)
                    try await stage.ask("($('.card').focus(), true)")
                    try await stage.browser.type("e")
                    try await stage.until("inbox.status === 'signed-out' && !$('[part=notice]').hidden")
                    let text = try await stage.ask("$('[part=notice] span').textContent")
                    #expect(text == "Du er logget ut, og listen oppdateres ikke lenger.")
                    // Another call may have ended the session before the archived one returned to the list.
                    let isLeft = "\(Self.titles) === 'Brev 3,Brev 2,Brev 1' && $('[part=settings-button]').hidden"
                    try await stage.until(isLeft)
                    try await stage.click("[part=notice] button")
                    try await stage.until("window.__wishes > 0")
                }
            }
        }
    }
}
