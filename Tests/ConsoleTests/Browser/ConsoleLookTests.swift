import BellhopJSON
import Foundation
import IntegrationSupport
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
            "status", "charts", "providers", "desk", "letters", "letter/00-missing-audience", "replays", "fanouts",
            "holds", "person", "person/drop/ada", "explain", "explain?app=drop&user=ada&event=none", "audit",
        ]

        /// Fills the console with at least one example of everything that it shows.
        private static func fill(_ stage: ConsoleStage) async throws {
            let person = try await stage.console.signIn()
            let replay = JSONObject([("options", ["reason": "invalid-field", "rate": "1"])])
            _ = try await stage.console.act("replay", replay, as: person, because: "they corrected their clock")
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
        }

        @Test(
            "axe-core finds no violation on any page, in light and dark mode",
            .enabled(if: axe != nil, "needs BELLHOP_AXE, the path of axe.min.js"),
            arguments: [false, true]
        )
        func audited(isDark: Bool) async throws {
            let source = try String(contentsOfFile: try #require(Self.axe), encoding: .utf8)
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await Self.fill(stage)
                // A toast that fades would be measured while it is half transparent.
                try await stage.browser.resize(width: 1_280, height: 900, isDark: isDark, isStill: true)
                try await stage.browser.go(to: stage.origin)
                try await stage.until("$('[name=token]') !== null")
                try await Self.expectNothing("signing in", source, stage)
                try await stage.signIn()
                for place in Self.places {
                    try await stage.open(place)
                    try await Self.expectNothing(place, source, stage)
                }
                try await stage.open("desk")
                try await stage.press("Replay")
                try await stage.until("$('.deed') !== null")
                try await Self.expectNothing("an act", source, stage)
            }
        }

        private static func expectNothing(_ place: String, _ source: String, _ stage: ConsoleStage) async throws {
            try await stage.browser.run("if (!window.axe) { \(source); window.axe = axe; }")
            let found = try await stage.browser.run(audit)
            #expect(found == [], "\(place)")
        }

        @Test("every page fits phone and desktop, in light and dark mode", arguments: [false, true])
        func fits(isPhone: Bool) async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await Self.fill(stage)
                try await stage.signIn()
                for isDark in [false, true] {
                    try await stage.browser.resize(width: isPhone ? 390 : 1_280, height: 900, isDark: isDark)
                    for place in Self.places {
                        try await stage.open(place)
                        let fits = try await stage.ask("document.documentElement.scrollWidth <= innerWidth")
                        #expect(fits == true, "\(place) is wider than its window")
                        let page = place.split(separator: "?").first?.replacing("/", with: "-") ?? ""
                        try await Self.look(
                            "\(page)-\(isPhone ? "phone" : "desktop")-\(isDark ? "dark" : "light")",
                            stage
                        )
                    }
                }
            }
        }

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
