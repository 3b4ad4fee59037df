import BellhopJSON
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

extension BrowserTests {
    /// Pauses, and the switches for push and e-mail of each type.
    @Suite("Pauses and channels in the notification centre")
    struct PauseTests {
        private static func pausedUntil(_ stage: InboxStage) async throws -> Timestamp? {
            try await stage.api.call("GET", "/api/preferences")["pausedUntil"]?.string
                .flatMap(Timestamp.init(validating:))
        }

        @Test("a pause of an hour is stored, shown in the settings and above the list, and ended from either")
        func hour() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.open()
                #expect(try await stage.ask("$('[part=pause]').checkVisibility()") == false)
                try await stage.openSettings()
                #expect(try await stage.texts(".pause button") == ["I én time", try await Self.morning(stage)])
                try await stage.ask("($('[name=pause-hour]').focus(), true)")
                let before = SystemTime().timestamp.microseconds
                try await stage.click("[name=pause-hour]")
                try await eventually("it is stored") { try await Self.pausedUntil(stage) != nil }
                let end = try #require(try await Self.pausedUntil(stage))
                let hour = (end.microseconds - before) / 1_000_000
                #expect((3_590...3_720).contains(hour), "\(hour) s")
                try await stage.until("$('.pause .label').textContent.startsWith('Pauset til ')")
                #expect(try await stage.ask("inbox.shadowRoot.activeElement?.name") == "pause-end")
                let shown = try await stage.ask("$('.pause .label').textContent")
                try await stage.click("[part=back]")
                try await stage.until("$('[part=pause]').checkVisibility()")
                #expect(try await stage.ask("$('[part=pause] span').textContent") == shown)
                try await stage.click("[part=pause] button")
                try await eventually("it is ended") { try await Self.pausedUntil(stage) == nil }
                try await stage.until("!$('[part=pause]').checkVisibility()")
                try await stage.openSettings()
                try await stage.click("[name=pause-morning]")
                try await eventually("it is stored again") { try await Self.pausedUntil(stage) != nil }
                try await stage.click("[name=pause-end]")
                try await eventually("it is ended in the settings") { try await Self.pausedUntil(stage) == nil }
                try await stage.until("$('[name=pause-hour]') !== null")
                try await stage.expectQuiet()
            }
        }

        /// Returns the label of the pause until the morning, by the clock of the page.
        private static func morning(_ stage: InboxStage) async throws -> String {
            let script = """
                (() => {
                  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: inbox.settings.timezone ?? undefined, hour: "2-digit", hourCycle: "h23" });
                  return Number(parts.format(Date.now())) < 4 ? "Til i dag kl. 07:00" : "Til i morgen kl. 07:00";
                })()
                """
            return try #require(try await stage.ask(script).string)
        }

        @Test(
            "a pause until the morning ends with the user's quiet hours, on the user's clock and across clock changes",
            arguments: [
                ("2026-03-10T22:00:00Z", "Europe/Oslo", "{}", "2026-03-11T06:00:00.000Z"),
                ("2026-03-28T12:00:00Z", "Europe/Oslo", "{}", "2026-03-29T05:00:00.000Z"),
                ("2026-03-11T01:30:00Z", "Europe/Oslo", "{}", "2026-03-11T06:00:00.000Z"),
                (
                    "2026-03-10T22:00:00Z", "America/New_York", #"{"enabled":true,"endHour":9}"#,
                    "2026-03-11T13:00:00.000Z"
                ),
                ("2026-03-10T12:00:00Z", "Europe/Oslo", #"{"enabled":true,"endHour":17}"#, "2026-03-11T06:00:00.000Z"),
                (
                    "2026-03-10T12:00:00Z", "Asia/Kathmandu", #"{"enabled":false,"endHour":9}"#,
                    "2026-03-11T01:15:00.000Z"
                ),
            ]
        )
        func morning(now: String, zone: String, hours: String, end: String) async throws {
            let clock = """
                Date.now = () => Date.parse('\(now)');
                const get = Headers.prototype.get;
                Headers.prototype.get = function (name) { return name === "Date" ? null : get.call(this, name); };
                """
            try await InboxStage.with { stage in
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"timezone":"\#(zone)"}"#)
                _ = try await stage.api.call("PATCH", "/api/preferences", #"{"quietHours":\#(hours)}"#)
                try await stage.prepared(by: clock) {
                    try await stage.open()
                    try await stage.openSettings()
                    // The instant is in the past for the server, so that only the request is looked at.
                    try await stage.ask(
                        "(inbox.client.changePreferences = (change) => ((window.__asked = change), Promise.reject(new Error())), true)"
                    )
                    try await stage.click("[name=pause-morning]")
                    try await stage.until("window.__asked !== undefined")
                    #expect(try await stage.ask("window.__asked") == ["pausedUntil": .string(end)])
                }
            }
        }

        @Test("a pause that cannot be stored is taken back with a message, and tried again from there")
        func failure() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.openSettings()
                try await stage.ask("(inbox.client.base = 'http://127.0.0.1:9/') && true")
                try await stage.click("[name=pause-hour]")
                try await stage.until(
                    "$('[part=toast]').classList.contains('fault') && $('[name=pause-hour]') !== null"
                )
                try await stage.ask("(inbox.client.base = location.origin, $('[part=undo]').click(), true)")
                try await eventually("the second attempt is stored") { try await Self.pausedUntil(stage) != nil }
                try await stage.until("$('[name=pause-end]') !== null")
            }
        }

        @Test("a pause that was set or ended on another device appears on an open page, and ends there in time")
        func elsewhere() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.open()
                func pause(_ seconds: Int64) async throws {
                    let end = Timestamp(clamping: SystemTime().timestamp.microseconds + seconds * 1_000_000)
                    _ = try await stage.api.call("PATCH", "/api/preferences", #"{"pausedUntil":"\#(end)"}"#)
                }
                try await pause(3_600)
                try await stage.until("$('[part=pause]').checkVisibility()", "set elsewhere")
                _ = try await stage.api.call("PATCH", "/api/preferences", #"{"pausedUntil":null}"#)
                try await stage.until("!$('[part=pause]').checkVisibility()", "ended elsewhere")
                try await pause(4)
                try await stage.until(
                    "!$('[part=pause]').checkVisibility() && inbox.preferences.pausedUntil !== undefined"
                )
                try await stage.openSettings()
                try await pause(3_600)
                try await stage.until("$('[name=pause-end]') !== null", "the settings follow")
            }
        }

        @Test("each type has a switch for push and one for e-mail if it is mailed, each stored alone")
        func channels() async throws {
            try await InboxStage.with(catalogs: try InboxStage.mailed()) { stage in
                try await stage.open()
                try await stage.openSettings()
                #expect(try await stage.texts(".heads span") == ["Push", "E-post"])
                let switches = try await stage.ask(
                    "$$('.kind input').map((input) => [input.name, input.checked, input.disabled])"
                )
                #expect(
                    switches == [
                        ["type-transaction_complete", true, false], ["mail-transaction_complete", true, false],
                        ["type-qr_payment", true, false], ["mail-qr_payment", true, false],
                        ["type-security", true, true], ["mail-security", true, true],
                        ["type-rate_update", false, false], ["type-system", false, false],
                        ["type-promotional", false, false],
                    ]
                )
                try await stage.click("[name=mail-qr_payment]")
                try await eventually("the choice for e-mail is stored alone") {
                    let kept = try await stage.api.call("GET", "/api/preferences")
                    return kept["emailToggles"] == ["qr_payment": false] && kept["eventToggles"]?["qr_payment"] == true
                }
                try await stage.click("[name=type-qr_payment]")
                try await stage.until("$('#kind-qr_payment-helper').checkVisibility()")
                try await stage.click("[name=type-transaction_complete]")
                try await eventually("the switch for e-mail stays as the user sees it") {
                    let kept = try await stage.api.call("GET", "/api/preferences")
                    return kept["eventToggles"]?["transaction_complete"] == false
                        && kept["emailToggles"]?["transaction_complete"] == true
                }
                try await stage.until("$('[name=mail-transaction_complete]').checked")
                #expect(try await stage.ask("$('#kind-transaction_complete-helper').checkVisibility()") == false)
                #expect(try await stage.ask("$('#kind-qr_payment-helper').innerText") == "Vises bare i listen.")
                let names = try await stage.ask("$('[name=mail-security]').getAttribute('aria-labelledby')")
                #expect(names == "kind-security head-email")
                #expect(try await stage.ask("$('#kind-security-helper').textContent") == "Kan ikke slås av.")
                try await stage.expectQuiet()
            }
        }

        @Test("an app without mails, or whose mails cannot be chosen, has one switch for each type")
        func oneChannel() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.openSettings()
                #expect(try await stage.ask("$$('.kind, .heads').length") == 0)
                let helper = try await stage.ask("$('#switch-type-promotional-helper').textContent")
                #expect(helper == "Vises bare i listen.")
            }
        }
    }
}
