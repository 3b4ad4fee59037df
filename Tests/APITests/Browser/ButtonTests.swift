import BellhopJSON
import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("Buttons of a notification")
    struct ButtonTests {
        /// Drop, whose payments have a button with a value, and one with a link that leads to another site.
        private static func catalogs() throws -> CatalogSet {
            let key = #"label: { nb: "QR-betalinger" },"#
            let actions = """
                actions: [
                  { label: { nb: "Se {merchant}", en: "See {merchant}" }, link: { web: "/m?id={merchant}", mobile: "/m" } },
                  { label: { nb: "Ut" }, link: { web: "//evil.example/x", mobile: "/m" } },
                ],
                """
            return try ServerFixture.shipped("drop", replacing: key, with: key + actions)
        }

        private static func payment(_ merchant: String) -> InboxStage.Letter {
            InboxStage.Letter(type: "qr_payment", title: "QR-betaling", data: ["merchant": .string(merchant)])
        }

        private static let labels = "$$('[part=action]').map((link) => link.textContent).join()"

        @Test("buttons are links of the page's own site, with the values as text")
        func links() async throws {
            try await InboxStage.with(catalogs: try Self.catalogs()) { stage in
                try await stage.deliver(1, InboxStage.Letter())
                try await stage.deliver(2, Self.payment("<img src=x onerror=window.__ran=1>"))
                try await stage.open()
                let labels = try await stage.texts("[part=action]")
                #expect(labels == ["Se <img src=x onerror=window.__ran=1>", "Ut"])
                let hrefs = try await stage.ask("$$('[part=action]').map((link) => link.href)")
                let encoded = "%3Cimg%20src%3Dx%20onerror%3Dwindow.__ran%3D1%3E"
                #expect(hrefs == [.string("\(stage.origin)/m?id=\(encoded)"), .string("\(stage.origin)/")])
                #expect(try await stage.ask("$$('[part=actions]').length") == 1)
                #expect(try await stage.ask("window.__ran ?? null") == .null)
                try await stage.expectQuiet()
            }
        }

        @Test("a pressed button offers its address to the page and marks the notification as read")
        func pressing() async throws {
            try await InboxStage.with(catalogs: try Self.catalogs()) { stage in
                try await stage.deliver(1, Self.payment("Narvesen"))
                try await stage.prepared(by: InboxStage.unseen) {
                    try await stage.open()
                    let wish = """
                        new Promise((resolve) => {
                          const heard = (event) => (event.preventDefault(), resolve(event.detail));
                          inbox.addEventListener("bellhop-open", heard, { once: true });
                          $("[part=action]").click();
                        }).then(({ notification, url, action }) => [notification.id, url, action.label, action.link.mobile])
                        """
                    let told = try await stage.ask(wish)
                    #expect(
                        told == [
                            .string(APIFixture.id(1)), .string("\(stage.origin)/m?id=Narvesen"), "Se Narvesen", "/m",
                        ]
                    )
                    try await eventually("it is read") { try await stage.api.unread() == 0 }
                    // Without a page that opens it, the browser follows the link.
                    try await stage.ask("($('[part=action]').click(), true)")
                    try await eventually("the link is followed") {
                        try await stage.browser.call("GET", "url") == .string("\(stage.origin)/m?id=Narvesen")
                    }
                }
            }
        }

        @Test("the Tab key reaches the buttons after their card, and a new list keeps the focus on them")
        func keyboard() async throws {
            try await InboxStage.with(catalogs: try Self.catalogs()) { stage in
                try await stage.deliver(1, Self.payment("Kiwi"))
                try await stage.prepared(by: InboxStage.unseen) {
                    try await stage.open()
                    try await stage.ask("$('.card').focus()")
                    try await stage.browser.press([.tab])
                    let first = try await stage.ask("inbox.shadowRoot.activeElement.textContent")
                    #expect(first == "Se Kiwi")
                    try await stage.deliver(2, Self.payment("Rema"))
                    try await stage.ask("inbox.model.load().then(() => true)")
                    try await stage.until(
                        "\(Self.labels) === 'Se Rema,Ut,Se Kiwi,Ut' || \(Self.labels) === 'Se Kiwi,Ut,Se Rema,Ut'"
                    )
                    let kept = try await stage.ask("inbox.shadowRoot.activeElement.textContent")
                    #expect(kept == "Se Kiwi")
                }
            }
        }

        @Test("the labels follow a change of the user's language")
        func language() async throws {
            try await InboxStage.with(catalogs: try Self.catalogs()) { stage in
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"nb"}"#)
                try await stage.deliver(1, Self.payment("Kiwi"))
                try await stage.open()
                try await stage.until("\(Self.labels) === 'Se Kiwi,Ut'")
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"en"}"#)
                try await stage.open()
                try await stage.until("\(Self.labels) === 'See Kiwi,Ut'")
            }
        }
    }
}
