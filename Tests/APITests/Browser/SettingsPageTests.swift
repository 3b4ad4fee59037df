import BellhopJSON
import Foundation
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("The settings page")
    struct SettingsPageTests {
        @Test("the settings have the texts and order of padel's document, and changes are stored")
        func roundTrip() async throws {
            try await InboxStage.with { stage in
                try await stage.open(as: "bo", app: "padel")
                try await stage.openSettings()
                let labels = try await stage.texts(".label")
                #expect(
                    labels.prefix(6) == [
                        "Pausa notiser", "Tillåt notiser", "Ny schemalagd match", "Påminnelse om tillgänglighetspoll",
                        "Adminmeddelanden",
                        "Aktivera tysta timmar",
                    ]
                )
                let helper = try await stage.ask("$('#switch-quietHours-helper').textContent")
                #expect(
                    helper
                        == "Tysta timmar pausar notiser mellan start och slut. Exempel: 22 till 07 stoppar nattnotiser."
                )
                let defaults = try await stage.ask("$$('input').map((input) => input.checked)")
                #expect(defaults == [true, true, true, true, false, true], "no e-mail: the app sends none")
                let hours = try await stage.ask("[$('[name=startHour]').value, $('[name=endHour]').value]")
                #expect(hours == ["22", "7"])

                try await stage.click("[name=quietHours]")
                try await stage.ask(
                    "Object.assign($('[name=endHour]'), { value: 6 }).dispatchEvent(new Event('change'))"
                )
                try await stage.click("[name=type-admin_announcement]")
                try await stage.click("[name=push]")
                let expected: JSONValue = [
                    "enabled": true,
                    "eventToggles": [
                        "scheduled_match_new": true, "availability_poll_reminder": true, "admin_announcement": false,
                    ],
                    "quietHours": ["enabled": true, "startHour": 22, "endHour": 6],
                ]
                try await eventually("the server keeps it") {
                    let kept = try await stage.api.call("GET", "/api/preferences", as: "bo", app: "padel").json
                    let settings = try await stage.api.call("GET", "/api/settings", as: "bo", app: "padel")
                    return kept == expected && settings["pushEnabled"] == false
                }
                try await stage.open(as: "bo", app: "padel")
                try await stage.openSettings()
                let later = try await stage.ask("$$('input').map((input) => input.checked)")
                #expect(later == [true, true, true, false, true, false])
                try await stage.expectQuiet()
            }
        }

        @Test("a change that cannot be stored is undone, and a message reports it")
        func failure() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.openSettings()
                try await stage.ask("(inbox.client.base = 'http://127.0.0.1:9/') && true")
                try await stage.click("[name=push]")
                try await stage.until("$('[part=toast]').classList.contains('fault') && $('[name=push]').checked")
                try await stage.ask("(inbox.client.base = location.origin, $('[part=undo]').click(), true)")
                try await eventually("the second attempt is stored") {
                    try await stage.api.call("GET", "/api/settings")["pushEnabled"] == false
                }
            }
        }

        @Test("a change on an open page takes nothing back that was set elsewhere, and the page shows both")
        func elsewhere() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.openSettings()
                let phone = #"{"eventToggles":{"qr_payment":false},"quietHours":{"enabled":true}}"#
                _ = try await stage.api.call("PATCH", "/api/preferences", phone)
                try await stage.click("[name=type-promotional]")
                try await stage.until("!$('[name=type-qr_payment]').checked && $('[name=quietHours]').checked")
                // The page may show the phone's change before its own is stored.
                try await eventually("the server has both changes") {
                    let kept = try await stage.api.call("GET", "/api/preferences")
                    let toggles = kept["eventToggles"]
                    let isPhones = toggles?["qr_payment"] == false && kept["quietHours"]?["enabled"] == true
                    return isPhones && toggles?["promotional"] == true
                }
                // The page reads them again when the user returns.
                _ = try await stage.api.call("PATCH", "/api/preferences", #"{"enabled":false}"#)
                try await stage.ask("document.dispatchEvent(new Event('visibilitychange'))")
                try await stage.until("!$('[name=master]').checked")
            }
        }

        @Test("a mandatory type has a locked switch that is on, and the others can be changed")
        func locked() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.openSettings()
                let locked = try await stage.ask("$$('input:disabled').map((input) => [input.name, input.checked])")
                #expect(locked == [["type-security", true]])
                #expect(try await stage.ask("$('#switch-type-security-helper').textContent") == "Kan ikke slås av.")
                try await stage.click("[name=type-security]")
                try await stage.click("[name=type-qr_payment]")
                try await eventually("the server keeps only the other") {
                    let kept = try await stage.api.call("GET", "/api/preferences")
                    return kept["eventToggles"]?["qr_payment"] == false && kept["eventToggles"]?["security"] == nil
                }
                #expect(try await stage.ask("$('[name=type-security]').checked") == true)
            }
        }

        @Test("the settings open from memory while the server does not answer, and report it if nothing is known")
        func memory() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.ask("(inbox.client.call = () => new Promise(() => {}), true)")
                try await stage.openSettings()
                try await stage.click("[part=back]")
                let unknown = """
                    (Object.assign(inbox, { preferences: null }),
                    (inbox.client.call = () => Promise.reject(Object.assign(new Error(), { status: 503 }))), true)
                    """
                try await stage.until("$('[part=settings-button]') !== null")
                try await stage.ask(unknown)
                try await stage.click("[part=settings-button]")
                try await stage.until("$('.settings .notice.failed button')?.textContent === 'Prøv igjen'")
                try await stage.ask("(delete inbox.client.call, $('.settings .notice button').click(), true)")
                try await stage.until("$('[name=master]')?.checked")
            }
        }

        /// A browser in which the page can subscribe without contacting a real push service.
        private static let subscribing = """
            Object.defineProperty(Notification, "permission", { get: () => window.__permission ?? "default" });
            window.__asked = 0;
            Notification.requestPermission = async () => ((window.__asked += 1), (window.__permission = "granted"));
            const key = (count) => btoa(String.fromCharCode(...Array.from({ length: count }, (_, place) => (place ? 7 : 4))))
              .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
            const endpoint = "https://updates.push.services.mozilla.com/wpush/v2/abc";
            const subscription = {
              endpoint,
              toJSON: () => ({ endpoint, expirationTime: null, keys: { p256dh: window.__key, auth: key(16) } }),
              unsubscribe: async () => ((window.__subscribed = false), true),
            };
            PushManager.prototype.subscribe = async (options) => {
              window.__subscribed = options.userVisibleOnly && options.applicationServerKey.length > 0;
              const pair = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]);
              const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
              window.__key = btoa(String.fromCharCode(...raw)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
              return subscription;
            };
            PushManager.prototype.getSubscription = async () => (window.__subscribed ? subscription : null);
            """

        private static func turnOn(_ stage: InboxStage) async throws {
            try await stage.openSettings()
            try await stage.click("[name=device]")
            try await stage.click("[name=proceed]")
            try await eventually("the browser is registered") { try await stage.api.servers.count(live) == 1 }
            try await stage.until("$('[name=device]')?.className === 'quiet-button'", "it can be turned off")
        }

        private static let live =
            "SELECT count(*) FROM push_subscriptions WHERE profile_id = 'ada' AND revoked_at IS NULL"
            + " AND provider = 'webpush' AND permission = 'granted'"

        @Test("signing out ends the browser's subscription without the server's help, and leaves no data behind")
        func leaving() async throws {
            try await InboxStage.with { stage in
                try await stage.prepared(by: Self.subscribing) {
                    try await stage.open()
                    try await Self.turnOn(stage)
                    try await stage.ask("(inbox.client.base = 'http://127.0.0.1:9/') && true")
                    let left = try await stage.ask(
                        "inbox.signOut().then(async () => [window.__subscribed, await caches.has('bellhop'), inbox.token])"
                    )
                    #expect(left == [false, false, .null])
                }
            }
        }

        @Test("signing in by a link ends the browser's previous subscription and does not take it over")
        func takenOver() async throws {
            try await InboxStage.with { stage in
                try await stage.prepared(by: Self.subscribing) {
                    try await stage.open()
                    try await Self.turnOn(stage)
                    try await stage.ask("(inbox.token = arguments[0]) && true", .string(try stage.api.token("bo")))
                    try await stage.until("window.__subscribed === false", "it is ended")
                    try await stage.openSettings()
                    try await stage.until("$('[name=device]')?.className === 'main-button'", "it is off")
                    let moved = "SELECT count(*) FROM push_subscriptions WHERE profile_id = 'bo'"
                    let count = try await stage.api.servers.count(moved)
                    #expect(count == 0)
                }
            }
        }

        @Test("an answer that redraws the page does not close a dialog that the user is reading")
        func dialogStays() async throws {
            try await InboxStage.with { stage in
                try await stage.prepared(by: Self.subscribing) {
                    try await stage.open()
                    try await stage.openSettings()
                    try await stage.click("[name=device]")
                    try await stage.until("$('dialog')?.open")
                    _ = try await stage.api.call("PATCH", "/api/preferences", #"{"enabled": false}"#)
                    try await stage.ask("document.dispatchEvent(new Event('visibilitychange'))")
                    try await stage.until("$('[name=master]').checked === false", "the page is drawn again")
                    let isOpen = try await stage.ask("$('dialog')?.matches(':modal')")
                    #expect(isOpen == true)
                }
            }
        }

        @Test("the page explains push before the browser asks, registers the browser, and can end the registration")
        func push() async throws {
            try await InboxStage.with { stage in
                try await stage.prepared(by: Self.subscribing) {
                    try await stage.open()
                    try await stage.openSettings()
                    try await stage.click("[name=device]")
                    try await stage.until(
                        "$('dialog').open && $('dialog').textContent.includes('Nettleseren spør om lov')"
                    )
                    let asked = try await stage.ask("window.__asked")
                    #expect(asked == 0, "nothing is asked before the explanation was read")
                    try await stage.click("[name=later]")
                    try await stage.until("$('dialog') === null")
                    try await stage.click("[name=device]")
                    try await stage.click("[name=proceed]")
                    try await eventually("the browser is registered") {
                        try await stage.api.servers.count(Self.live) == 1
                    }
                    try await stage.until("$('[name=device]')?.className === 'quiet-button'", "it can be turned off")
                    try await stage.click("[name=device]")
                    try await eventually("the browser is forgotten") {
                        try await stage.api.servers.count(Self.live) == 0
                    }
                    try await stage.expectQuiet()
                }
            }
        }
    }
}
