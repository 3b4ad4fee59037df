import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    /// The settings are a script that the element loads when they are first needed.
    @Suite("The script of the settings")
    struct SettingsPartTests {
        private static let requests =
            "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/bellhop-inbox-settings.js')).length"

        @Test("a page load does not need it, the first opening loads it once, and later ones need no network")
        func onDemand() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                #expect(try await stage.ask(Self.requests) == 0)
                try await stage.openSettings()
                try await stage.until("\(Self.requests) === 1")
                try await stage.click("[part=back]")
                try await stage.disconnect()
                try await stage.openSettings()
                #expect(try await stage.ask(Self.requests) == 1)
                try await stage.reconnect()
            }
        }

        @Test("a settings script that does not load is reported, and the next attempt loads it")
        func failing() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.browser.tell("Network.setBlockedURLs", ["urls": ["*bellhop-inbox-settings.js"]])
                try await stage.click("[part=settings-button]")
                try await stage.until("$('.settings .notice.failed button')?.textContent === 'Prøv igjen'")
                try await stage.browser.tell("Network.setBlockedURLs", ["urls": []])
                try await stage.click(".settings .notice.failed button")
                try await stage.until("$('[name=master]')?.checked")
            }
        }

        @Test("a script of another version is not used")
        func otherVersion() async throws {
            try await InboxStage.with { stage in
                let other = """
                    window.__other = true;
                    const add = Element.prototype.append;
                    Element.prototype.append = function (...nodes) {
                      if (nodes[0]?.localName !== "script" || !window.__other) return add.apply(this, nodes);
                      BellhopInbox.addPart("settings", "other", () => ({}));
                      nodes[0].dispatchEvent(new Event("load"));
                    };
                    """
                try await stage.prepared(by: other) {
                    try await stage.open()
                    try await stage.click("[part=settings-button]")
                    try await stage.until("$('.settings .notice.failed button') !== null")
                    try await stage.ask("(window.__other = false, $('.settings .notice.failed button').click(), true)")
                    try await stage.until("$('[name=master]')?.checked")
                }
            }
        }

        @Test("a page of another origin loads it under the documented policy, with or without a nonce")
        func otherOrigin() async throws {
            try await InboxStage.with { stage in
                let origin = stage.origin
                let page = """
                    <!doctype html><html lang="nb"><meta charset="utf-8"><title>Drop</title>
                    <link rel="icon" href="data:,"><body><bellhop-inbox></bellhop-inbox>
                    <script nonce="r4nd0m" src="\(origin)/bellhop-inbox.js"></script></body></html>
                    """
                for scripts in [origin, "'nonce-r4nd0m'"] {
                    let policy = """
                        default-src 'none'; script-src \(scripts); connect-src \(origin); img-src data:; \
                        require-trusted-types-for 'script'; trusted-types bellhop-inbox
                        """
                    stage.foreign.show(page, policy: policy)
                    try await stage.browser.go(to: "about:blank")
                    try await stage.browser.go(to: stage.foreign.origin)
                    let token = try stage.api.token("ada")
                    try await stage.ask("(inbox.token = arguments[0], true)", .string(token))
                    try await stage.until("inbox.catalog !== null && inbox.status === 'ready'", scripts)
                    try await stage.ask("(inbox.open(), true)")
                    try await stage.openSettings()
                    #expect(try await stage.ask("$('[name=master]').checked") == true)
                    try await stage.expectQuiet(scripts)
                }
            }
        }

        @Test("settings that were changed elsewhere appear on an open page without any action of the user")
        func changedElsewhere() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                try await stage.openSettings()
                _ = try await stage.api.call("PATCH", "/api/preferences", #"{"eventToggles":{"qr_payment":false}}"#)
                try await stage.until("!$('[name=type-qr_payment]').checked", "a preference")
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"sv"}"#)
                try await stage.until("$('[part=heading]').textContent === 'Inställningar'", "the language")
            }
        }

        @Test("words in the language of the browser are used only if the app has labels in it")
        func offered() async throws {
            try await InboxStage.with { stage in
                let language = "Object.defineProperty(navigator, 'language', { get: () => 'nb-NO' });"
                try await stage.prepared(by: language) {
                    try await stage.open(as: "bo", app: "padel")
                    #expect(try await stage.ask("$('[part=heading]').textContent") == "Notiser")
                    try await stage.openSettings()
                    #expect(try await stage.texts("h2").contains("Få notiser om"))
                    _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"en"}"#, as: "bo", app: "padel")
                    try await stage.until("$('[part=heading]').textContent === 'Settings'", "a chosen language")
                }
            }
        }
    }
}
