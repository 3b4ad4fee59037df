import BellhopJSON
import Foundation
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    /// Automated checks of WCAG 2.2 AA, and tests of use without a mouse.
    @Suite("Accessibility of the notification centre")
    struct AccessibilityTests {
        /// The path of axe-core, set by `deploy/test`.
        ///
        /// It is `nil` in a plain `swift test`, which skips the audit.
        private static let axe = ProcessInfo.processInfo.environment["BELLHOP_AXE"]

        private static let audit = """
            return axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
                .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((node) =>
                    node.target.join(" ") + " " + node.failureSummary).join("; ")));
            """

        private static func expectNothing(_ place: String, _ stage: InboxStage) async throws {
            let found = try await stage.browser.run(audit)
            #expect(found == [], "\(place)")
        }

        @Test(
            "axe-core finds no violation on any page, in light and dark mode",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: [false, true]
        )
        func audited(isDark: Bool) async throws {
            let file = try #require(Self.axe)
            let source = try String(contentsOfFile: file, encoding: .utf8)
            try await InboxStage.with { stage in
                // A toast that fades out after three seconds would be measured while it is half transparent.
                try await stage.browser.resize(width: 1_200, height: 900, isDark: isDark, isStill: true)
                try await stage.deliverSamples()
                try await stage.open()
                try await stage.browser.run(source + "; window.axe = axe;")
                try await Self.expectNothing("the list", stage)
                try await stage.openSettings()
                try await stage.click("[name=quietHours]")
                try await Self.expectNothing("the settings", stage)
                try await stage.click("[name=master]")
                try await Self.expectNothing("the settings of who wants none", stage)
                try await stage.click("[name=device]")
                try await Self.expectNothing("the explanation", stage)
                try await stage.click("[name=later]")
                try await stage.click("[part=back]")
                try await stage.until("$$('[part=menu-button]').length === 5")
                try await stage.click("[part=menu-button]")
                try await Self.expectNothing("the menu of a notification", stage)
                try await stage.click("[role=menuitem]:nth-child(2)")
                try await stage.until("$$('[role=menuitem]').length >= 4")
                try await Self.expectNothing("the times of a snooze", stage)
                try await stage.click("[role=menuitem]:last-child")
                try await stage.until("$('[name=until]') !== null")
                try await Self.expectNothing("the choice of a time", stage)
                try await stage.ask("(inbox.client.base = 'http://127.0.0.1:9/', $('.menu').hidePopover(), true)")
                try await stage.ask("(inbox.list.actions.act([$('.card').item], 'archived'), true)")
                try await stage.until("$('[part=toast]').classList.contains('fault')")
                try await Self.expectNothing("an act that failed", stage)
                try await stage.open(as: "cleo")
                try await stage.browser.run(source + "; window.axe = axe;")
                try await Self.expectNothing("an empty inbox", stage)
                try await stage.click("[name=archived]")
                try await stage.until("$('[part=empty]')?.textContent === 'Arkivet er tomt'")
                try await Self.expectNothing("an empty archive", stage)
                try await stage.browser.go(to: "\(stage.origin)/host")
                try await stage.ask("inbox.token = arguments[0]", .string(try stage.api.token("ada")))
                try await stage.until("inbox.model?.isLoaded")
                try await stage.click("[part=bell]")
                try await stage.until("$$('[part=item]').length === 5")
                try await stage.browser.run(source + "; window.axe = axe;")
                try await Self.expectNothing("a panel in a page of an app", stage)
                try await stage.click("[part=close]")
                try await stage.browser.resize(width: 390, height: 844, isDark: isDark, isStill: true)
                try await stage.click("[part=bell]")
                try await stage.until("$('[part=panel]').matches(':modal')")
                try await Self.expectNothing("a panel on a phone", stage)
            }
        }

        @Test(
            "axe-core finds no violation in any language: list, offline list, settings in it and settings as a page",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: ["nb", "sv", "en"]
        )
        func languages(locale: String) async throws {
            let file = try #require(Self.axe)
            let source = try String(contentsOfFile: file, encoding: .utf8) + "; window.axe = axe;"
            try await InboxStage.with { stage in
                try await stage.browser.resize(width: 1_200, height: 900, isStill: true)
                try await stage.deliverSamples()
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"\#(locale)"}"#)
                try await stage.open()
                try await stage.browser.run(source)
                let language = try await stage.ask("$('[part=heading]').closest('[lang]').lang.slice(0, 2)")
                #expect(language == .string(locale))
                try await Self.expectNothing("the list in \(locale)", stage)
                try await stage.disconnect()
                try await stage.until("!$('[part=notice]').hidden")
                try await Self.expectNothing("the list in \(locale) without a network", stage)
                try await stage.reconnect()
                try await stage.until("$('[part=notice]').hidden")
                try await stage.openSettings()
                try await Self.expectNothing("the settings in \(locale)", stage)
                let back = "<button slot='back'>←</button>"
                try await PlacementTests.place("layout='settings'", back, on: stage)
                try await stage.until("$('[name=master]')?.checked && inbox.status === 'ready'")
                try await stage.browser.run(source)
                try await Self.expectNothing("the settings as a page in \(locale)", stage)
            }
        }

        @Test(
            "axe-core finds no violation in a list with buttons and filters by tag, in light and dark mode",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: [false, true]
        )
        func buttons(isDark: Bool) async throws {
            let file = try #require(Self.axe)
            let source = try String(contentsOfFile: file, encoding: .utf8)
            try await InboxStage.with(catalogs: try InboxStage.buttonsAndTags()) { stage in
                try await stage.browser.resize(width: 390, height: 844, isDark: isDark, isStill: true)
                try await stage.deliverSamples()
                try await stage.open()
                try await stage.until("$$('.action').length === 4 && $$('.chip').length >= 6")
                try await stage.browser.run(source + "; window.axe = axe;")
                try await Self.expectNothing("the list with buttons", stage)
                try await stage.click("[name='tag/safety']")
                try await stage.until("$$('[part=item]').length === 1 && $$('.action').length === 3")
                try await Self.expectNothing("the list of a tag", stage)
            }
        }

        @Test(
            "axe-core finds no violation in a list with a stack and a picture on the smallest phone, in light and dark mode",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: [false, true]
        )
        func stacks(isDark: Bool) async throws {
            let file = try #require(Self.axe)
            let source = try String(contentsOfFile: file, encoding: .utf8)
            try await InboxStage.with { stage in
                try await stage.browser.resize(width: 320, height: 844, isDark: isDark, isStill: true)
                try await stage.deliverShowcase()
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen + InboxStage.pictures) {
                    try await stage.open()
                    try await stage.until("$$('.fold').length === 1 && $('.picture')?.naturalWidth > 0")
                    try await stage.browser.run(source + "; window.axe = axe;")
                    try await Self.expectNothing("a stack", stage)
                    try await stage.click(".fold")
                    try await stage.until("$('.fold').ariaExpanded === 'true'")
                    try await Self.expectNothing("an unfolded stack", stage)
                    try await stage.click(".stack [part=menu-button]")
                    try await stage.until("$$('[role=menuitem]').length === 2")
                    try await Self.expectNothing("the menu of a stack", stage)
                }
            }
        }

        @Test(
            "axe-core finds no violation in a pause and in the switches for two channels, on a phone and in a window",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: [(320, false), (320, true), (1_200, false), (1_200, true)]
        )
        func pauseAndChannels(width: Int, isDark: Bool) async throws {
            let file = try #require(Self.axe)
            let source = try String(contentsOfFile: file, encoding: .utf8) + "; window.axe = axe;"
            try await InboxStage.with(catalogs: try InboxStage.mailed()) { stage in
                try await stage.browser.resize(width: width, height: 900, isDark: isDark, isStill: true)
                try await stage.deliverSamples()
                try await stage.open()
                try await stage.browser.run(source)
                try await stage.openSettings()
                try await Self.expectNothing("the switches for two channels", stage)
                try await stage.click("[name=pause-hour]")
                try await stage.until("$('[name=pause-end]') !== null && inbox.preferences.pausedUntil !== undefined")
                try await stage.click("[name=type-qr_payment]")
                try await stage.click("[name=mail-qr_payment]")
                try await stage.until("$('#kind-qr_payment-helper').checkVisibility()")
                try await Self.expectNothing("the settings in a pause", stage)
                let isWide = try await stage.ask("document.documentElement.scrollWidth > innerWidth")
                #expect(isWide == false, "nothing is cut off at the side")
                try await stage.click("[part=back]")
                try await stage.until("$('[part=pause]')?.checkVisibility()")
                try await Self.expectNothing("the list in a pause", stage)
            }
        }

        @Test("every function works by keyboard, and the focus is never lost")
        func keyboard() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.prepared(by: InboxStage.unseen) { try await Self.useKeyboard(on: stage) }
            }
        }

        private static func useKeyboard(on stage: InboxStage) async throws {
            let focused = "inbox.shadowRoot.activeElement"
            try await stage.open()
            // "Marker alle som lest", then the settings.
            try await stage.browser.press([.tab, .tab])
            let ring = try await stage.ask(
                "[\(focused).getAttribute('part'), getComputedStyle(\(focused)).outlineStyle]"
            )
            #expect(ring == ["settings-button", "solid"], "the focus can be seen")
            try await stage.browser.press([.enter])
            try await stage.until("\(focused)?.className === 'heading' && $('[name=master]') !== null", "the settings")
            // The two buttons of the pause, then the first switch.
            try await stage.browser.press([.tab])
            #expect(try await stage.ask("\(focused).name") == "pause-hour")
            try await stage.browser.press([.tab, .tab])
            let master = try await stage.ask("\(focused).name")
            #expect(master == "master")
            try await stage.browser.press([.space])
            try await eventually("the switch is kept") {
                try await stage.api.call("GET", "/api/preferences")["enabled"] == false
            }
            try await stage.browser.press([.escape])
            try await stage.until("\(focused)?.getAttribute('part') === 'settings-button'", "back where it came from")
            // The four filters, then the first card.
            let first = [WebDriver.Key](repeating: .tab, count: 5)
            for (keys, place) in [(first, 0), ([.down, .down], 2), ([.end], 4)] {
                try await stage.browser.press(keys)
                let isThere = try await stage.ask("\(focused) === $$('a')[\(place)]")
                #expect(isThere == true, "card \(place)")
            }
        }

        @Test("the bell on an app's page opens a panel, which Escape or a click outside closes")
        func panel() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.browser.go(to: "\(stage.origin)/host")
                try await stage.ask("inbox.token = arguments[0]", .string(try stage.api.token("ada")))
                try await stage.until("$('[part=bell]').ariaLabel === '3 uleste varsler' && $('[part=panel]').hidden")
                let unread = try await stage.api.unread()
                #expect(unread == 3, "nothing is read behind a closed panel")
                try await stage.click("[part=bell]")
                try await stage.until("$('[part=bell]').ariaExpanded === 'true' && $$('[part=item]').length === 5")
                try await stage.browser.press([.escape])
                try await stage.until("$('[part=panel]').hidden && inbox.shadowRoot.activeElement === $('[part=bell]')")
                try await stage.click("[part=bell]")
                try await stage.until("!$('[part=panel]').hidden")
                let outside =
                    "document.querySelector('#outside').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))"
                try await stage.ask(outside)
                try await stage.until("$('[part=panel]').hidden")
                let wish = """
                    new Promise((resolve) => {
                      inbox.addEventListener("bellhop-open", (event) => (event.preventDefault(), resolve(event.detail.url)));
                      $("[part=bell]").click();
                      setTimeout(() => $("a").click());
                    })
                    """
                let address = try await stage.ask(wish)
                #expect(address == .string("\(stage.origin)/transactions?id=tx_rem_1"))
                #expect(try await stage.browser.call("GET", "url") == .string("\(stage.origin)/host"))
            }
        }
    }
}
