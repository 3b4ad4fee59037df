import BellhopJSON
import Foundation
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("Layout of the notification centre")
    struct ScreenshotTests {
        /// The folder for screenshots, for review by eye.
        ///
        /// `deploy/test` keeps them with the logs.
        private static let folder = ProcessInfo.processInfo.environment["BELLHOP_PICTURES"]

        @Test("the layout fits phone and desktop, light and dark, in each language", arguments: ["nb", "sv", "en"])
        func fits(locale: String) async throws {
            try await InboxStage.with { stage in
                let people = ["ada", "bo", "cleo", "dan"]
                for person in people {
                    try await stage.deliverSamples(to: person)
                    _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"\#(locale)"}"#, as: person)
                }
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen) {
                    for (place, person) in people.enumerated() {
                        let (isPhone, isDark) = (place % 2 == 1, place > 1)
                        try await stage.browser.resize(width: isPhone ? 390 : 1_200, height: 844, isDark: isDark)
                        try await stage.open(as: person)
                        let name = "\(locale)-\(isPhone ? "phone" : "desktop")-\(isDark ? "dark" : "light")"
                        try await Self.look("list-\(name)", stage)
                        guard isPhone == isDark else { continue }
                        try await stage.openSettings()
                        try await Self.look("settings-\(name)", stage)
                    }
                }
            }
        }

        @Test(
            "a pause and the switches for two channels fit the desktop and the smallest phone",
            arguments: [1_200, 320]
        )
        func pause(width: Int) async throws {
            try await InboxStage.with(catalogs: try InboxStage.mailed()) { stage in
                try await stage.deliverSamples()
                try await stage.browser.resize(width: width, height: 844, isDark: width < 400)
                try await stage.open()
                try await stage.openSettings()
                try await Self.look("channels-nb-\(width)", stage)
                let isStacked = """
                    $$('.kind .label').every((label) => label.offsetHeight < 30) && $$('.words .helper').every((helper) => {
                      const [own, label] = [helper, helper.previousElementSibling].map((node) => node.getBoundingClientRect());
                      return helper.hidden || own.top >= label.bottom;
                    })
                    """
                #expect(try await stage.ask(isStacked) == true, "labels have one line, and helper texts are below them")
                try await stage.click("[name=pause-morning]")
                try await stage.until("$('[name=pause-end]') !== null && inbox.preferences.pausedUntil !== undefined")
                try await Self.look("paused-settings-nb-\(width)", stage)
                let isInside = """
                    $$('.kind input').length === 9 && $$('.row input, .row button').every((control) => {
                      const [own, row] = [control, control.closest(".row")].map((node) => node.getBoundingClientRect());
                      return own.left >= row.left && own.right <= row.right && own.height >= 24;
                    })
                    """
                #expect(try await stage.ask(isInside) == true)
                try await stage.click("[part=back]")
                try await stage.until("$('[part=pause]').checkVisibility()")
                try await Self.look("paused-list-nb-\(width)", stage)
            }
        }

        @Test("buttons and filters by tag fit the desktop and the smallest phone", arguments: [1_200, 320])
        func buttons(width: Int) async throws {
            try await InboxStage.with(catalogs: try InboxStage.buttonsAndTags()) { stage in
                try await stage.deliverSamples()
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen) {
                    try await stage.browser.resize(width: width, height: 844, isDark: width < 400)
                    try await stage.open()
                    try await Self.look("buttons-nb-\(width)", stage)
                    let isInside = """
                        $$('.action').length === 4 && $$('.action').every((link) => {
                          const [own, item] = [link, link.closest("li")].map((node) => node.getBoundingClientRect());
                          return own.left >= item.left && own.right <= item.right && own.height >= 24;
                        })
                        """
                    #expect(try await stage.ask(isInside) == true)
                }
            }
        }

        @Test("a list with buttons, tags, a stack and a picture fits desktop and phones, light and dark")
        func showcase() async throws {
            try await InboxStage.with(catalogs: try InboxStage.showcase()) { stage in
                try await stage.deliverShowcase()
                try await stage.prepared(by: InboxStage.evening + InboxStage.unseen + InboxStage.pictures) {
                    for (width, isDark) in [(1_200, false), (1_200, true), (390, false), (390, true), (320, true)] {
                        try await stage.browser.resize(width: width, height: width > 400 ? 840 : 844, isDark: isDark)
                        try await stage.open()
                        try await stage.until("$$('.fold').length === 1 && $('.picture')?.naturalWidth > 0")
                        try await Self.look("showcase-\(width)-\(isDark ? "dark" : "light")", stage)
                    }
                }
            }
        }

        /// A server whose lists cannot be loaded.
        private static let failing = """
            const plain = window.fetch;
            const failed = () => Promise.resolve(new Response("{}", { status: 503 }));
            window.fetch = (address, ...rest) => (String(address).includes("/api/notifications") ? failed() : plain(address, ...rest));
            """

        @Test("an empty list fits the desktop, and the notice of a failed one fits the phone")
        func states() async throws {
            try await InboxStage.with { stage in
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"en"}"#)
                try await stage.browser.resize(width: 1_200, height: 844)
                try await stage.open()
                try await Self.look("empty-en-desktop-light", stage)
                try await stage.prepared(by: Self.failing) {
                    try await stage.browser.resize(width: 390, height: 844)
                    try await stage.browser.go(to: "about:blank")
                    try await stage.browser.go(to: "\(stage.origin)/#token=\(try stage.api.token("ada"))")
                    try await stage.until("inbox.status === 'failed' && inbox.settings && $('.notice.failed') !== null")
                    try await Self.look("error-en-phone-light", stage)
                }
            }
        }

        private static func look(_ name: String, _ stage: InboxStage) async throws {
            let overflow = try await stage.ask(
                "document.documentElement.scrollWidth <= innerWidth && $$('.words').every((box) => box.scrollWidth <= box.clientWidth)"
            )
            #expect(overflow == true, "\(name) is wider than its window")
            guard let folder else { return }
            let picture = try await stage.browser.tell("Page.captureScreenshot", ["format": "png"])
            let data = picture["data"]?.string.flatMap { Data(base64Encoded: $0) }
            let bytes = try #require(data)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try bytes.write(to: URL(fileURLWithPath: folder).appendingPathComponent("\(name).png"))
        }
    }
}
