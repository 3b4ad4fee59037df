import BellhopJSON
import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("Filters by tag")
    struct TagTests {
        private static let titles = "$$('[part=title]').map((title) => title.textContent).join()"
        private static let chips = "$$('[part=filters] button').map((chip) => chip.textContent).join()"

        private static func catalogs() throws -> CatalogSet {
            let tags = #"tags: { money: { nb: "Penger", en: "Money" }, safety: { nb: "Sikkerhet" } }, types: {"#
            let text = try ServerFixture.changed("drop", replacing: "types: {", with: tags)
                .replacing(#"label: { nb: "QR-betalinger" },"#, with: #"label: { nb: "QR" }, tags: ["money"],"#)
                .replacing(#"label: { nb: "Sikkerhet" },"#, with: #"label: { nb: "S" }, tags: ["safety"],"#)
            return try CatalogSet.load(files: [("drop.json5", Array(text.utf8))]).get()
        }

        /// Opens a page with a transfer and two payments, all of them read.
        private static func opened(_ body: (InboxStage) async throws -> Void) async throws {
            try await InboxStage.with(catalogs: try catalogs()) { stage in
                for (number, type) in ["transaction_complete", "qr_payment", "qr_payment"].enumerated() {
                    let at = "2026-02-21T1\(number):00:00Z"
                    let letter = InboxStage.Letter(type: type, title: "Brev \(number + 1)", at: at, isRead: true)
                    try await stage.deliver(number + 1, letter)
                }
                try await stage.prepared(by: InboxStage.unseen) {
                    try await stage.open()
                    try await body(stage)
                }
            }
        }

        @Test("each tag is a filter with its own address, which a reload and Back keep")
        func address() async throws {
            try await Self.opened { stage in
                try await stage.until("\(Self.chips) === 'Alle,Uleste,Penger,Sikkerhet,Utsatt,Arkiv'")
                try await stage.click("[name='tag/money']")
                try await stage.until("\(Self.titles) === 'Brev 3,Brev 2' && location.hash === '#/tag/money'")
                #expect(try await stage.ask("$('[name=\"tag/money\"]').ariaPressed") == "true")
                try await stage.browser.call("POST", "refresh", [:])
                try await stage.until("\(Self.titles) === 'Brev 3,Brev 2'", "a reload keeps the filter")
                // Back passes over the entries of a page that had no input.
                try await stage.ask("($('.card').focus(), true)")
                try await stage.browser.press([.down])
                try await stage.click("[name='tag/safety']")
                try await stage.until("$('[part=empty]')?.textContent === 'Ingen varsler ennå'")
                try await stage.openSettings()
                try await stage.browser.call("POST", "back", [:])
                try await stage.until("location.hash === '#/tag/safety' && $('.settings') === null")
                try await stage.browser.call("POST", "back", [:])
                try await stage.until("location.hash === '' && \(Self.titles) === 'Brev 3,Brev 2,Brev 1'")
                try await stage.expectQuiet()
            }
        }

        @Test("an action under a tag changes both lists, and a new notification of the tag appears in both")
        func acting() async throws {
            try await Self.opened { stage in
                try await stage.click("[name='tag/money']")
                try await stage.until("\(Self.titles) === 'Brev 3,Brev 2'")
                try await stage.ask("$('.card').focus()")
                try await stage.browser.type("e")
                try await stage.until("\(Self.titles) === 'Brev 2'")
                let id = try await stage.api.arrive(9, type: "qr_payment")
                try await stage.api.announce()
                try await stage.until("\(Self.titles) === 'Tittel 9,Brev 2'")
                let next = try await stage.api.arrive(10)
                try await stage.api.announce()
                try await stage.until("inbox.model.order.length === 4")
                #expect(try await stage.ask(Self.titles) == "Tittel 9,Brev 2")
                try await stage.click("[name=all]")
                try await stage.until("\(Self.titles) === 'Tittel 10,Tittel 9,Brev 2,Brev 1'")
                #expect(try await stage.api.ids("/api/notifications?state=active").prefix(2) == [next, id])
            }
        }

        @Test("the address of a tag that the catalogue does not have shows all notifications")
        func unknown() async throws {
            try await Self.opened { stage in
                try await stage.browser.go(to: "about:blank")
                try await stage.browser.go(to: "\(stage.origin)/#/tag/gone")
                try await stage.until("\(Self.titles) === 'Brev 3,Brev 2,Brev 1' && inbox.status === 'ready'")
                try await stage.until("$('[name=all]').ariaPressed === 'true'")
                // The same address, opened from the page itself.
                try await stage.ask("(location.hash = '#/tag/other', true)")
                try await stage.until("location.hash === '#/tag/other' && \(Self.titles) === 'Brev 3,Brev 2,Brev 1'")
                #expect(try await stage.ask("[$('[name=all]').ariaPressed, inbox.side]") == ["true", .null])
            }
        }

        @Test("a filter beyond the edge of a small phone is scrolled into view when its address is opened")
        func narrow() async throws {
            try await Self.opened { stage in
                try await stage.browser.resize(width: 320, height: 844)
                for name in ["archived", "tag/safety", ""] {
                    try await stage.ask("(location.hash = arguments[0], true)", .string("#/\(name)"))
                    try await stage.browser.call("POST", "refresh", [:])
                    let chip = name.isEmpty ? "all" : name
                    try await stage.until("$(`[name='\(chip)']`)?.ariaPressed === 'true' && !$('.filters').hidden")
                    let isInside = """
                        ((chip, bar) => chip.left >= bar.left && chip.right <= bar.right)
                        (...["[name='\(chip)']", ".filters"].map((name) => $(name).getBoundingClientRect()))
                        """
                    try await stage.until(isInside, "\(chip) is inside")
                }
            }
        }

        @Test("the names of the filters follow the user's language")
        func language() async throws {
            try await Self.opened { stage in
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"en"}"#)
                try await stage.open()
                try await stage.until("\(Self.chips) === 'All,Unread,Money,Sikkerhet,Snoozed,Archive'")
            }
        }
    }
}
