import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    /// The element inside pages that are not the stock page.
    @Suite("The notification centre in an app's page")
    struct PlacementTests {
        /// Replaces the element of the app's page by one with these attributes, and signs ada in.
        static func place(_ attributes: String, _ content: String = "", on stage: InboxStage) async throws {
            try await stage.browser.go(to: "\(stage.origin)/host")
            let replace = """
                const parsed = new DOMParser().parseFromString(arguments[0], "text/html");
                const inbox = document.importNode(parsed.querySelector("bellhop-inbox"), true);
                document.querySelector("bellhop-inbox").replaceWith(inbox);
                inbox.token = arguments[1];
                """
            let element = "<bellhop-inbox \(attributes)>\(content)</bellhop-inbox>"
            try await stage.browser.run(replace, [.string(element), .string(try stage.api.token("ada"))])
        }

        @Test("the settings alone fill a page, with the app's own way back, and load no list")
        func settings() async throws {
            try await InboxStage.with { stage in
                let counting = """
                    window.__calls = [];
                    const plain = window.fetch;
                    window.fetch = (address, options) => (__calls.push(String(address)), plain(address, options));
                    """
                try await stage.prepared(by: counting) {
                    try await Self.place("layout='settings'", "<button slot='back'>Tilbake</button>", on: stage)
                    try await stage.until("$('[name=master]')?.checked && inbox.status === 'ready'")
                    let look = try await stage.ask(
                        "[$('[part=heading]').textContent, $('slot[name=back]').assignedElements().length, $('[part=settings-button]'), $('[part=back]')]"
                    )
                    #expect(look == ["Innstillinger", 1, .null, .null])
                    try await stage.click("[name=master]")
                    try await eventually("the change is stored") {
                        try await stage.api.call("GET", "/api/preferences")["enabled"] == false
                    }
                    let lists = try await stage.ask(
                        "__calls.filter((one) => /[/]api[/]notifications(?![/]stream)/.test(one)).length"
                    )
                    #expect(lists == 0)
                }
            }
        }

        @Test("a bell with an address is a link, and its event can be cancelled")
        func link() async throws {
            try await InboxStage.with { stage in
                try await Self.place("href='/host#list'", on: stage)
                try await stage.until("$('a.bell') !== null && inbox.model?.isLoaded")
                let press = """
                    (inbox.addEventListener("bellhop-bell", (event) => event.preventDefault(), { once: true }),
                    $(".bell").click(), [location.hash, $("[part=panel]").hidden])
                    """
                #expect(try await stage.ask(press) == ["", true])
                try await stage.click(".bell")
                try await stage.until("location.hash === '#list'")
            }
        }

        @Test("a bell whose event is cancelled opens no panel")
        func cancelled() async throws {
            try await InboxStage.with { stage in
                try await Self.place("", on: stage)
                try await stage.until("inbox.model?.isLoaded")
                let press = """
                    (inbox.addEventListener("bellhop-bell", (event) => event.preventDefault(), { once: true }),
                    $(".bell").click(), $("[part=panel]").hidden)
                    """
                #expect(try await stage.ask(press) == true)
                try await stage.click(".bell")
                try await stage.until("!$('[part=panel]').hidden")
            }
        }

        @Test("calls go to the address in front of the API, which may have a path")
        func base() async throws {
            try await InboxStage.with { stage in
                try await Self.place("layout='page' base='/bellhop/'", on: stage)
                try await stage.until("inbox.status === 'failed'")
                #expect(try await stage.ask("inbox.client.base") == .string("\(stage.origin)/bellhop/"))
                // The browser lists a request when its answer is complete.
                let isCalled = "({ name }) => name.endsWith('/bellhop/api/catalog')"
                try await stage.until("performance.getEntriesByType('resource').some(\(isCalled))")
            }
        }

        @Test("settings show the ways that the app has, and all of them if the server does not list them")
        func ways() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                let shown = """
                    (ways) => {
                      inbox.catalog = { ...inbox.catalog, ways };
                      inbox.form.update({ ...inbox.form.view.facts, catalog: inbox.catalog });
                      return ["push", "email"].map((name) => Boolean($(`[name=${name}]`))).concat(inbox.form.view.device.isConnected);
                    }
                    """
                try await stage.openSettings()
                for (ways, expected) in [
                    ("undefined", [true, true, true]), ("['app', 'push']", [true, false, false]),
                    ("['app']", [false, false, false]), ("['app', 'webpush', 'email']", [true, true, true]),
                ] as [(String, [JSONValue])] {
                    let found = try await stage.ask("(\(shown))(\(ways))")
                    #expect(found == .array(expected), "\(ways)")
                }
            }
        }

        /// A network that fails from the second visit on.
        private static let broken = """
            if (sessionStorage.broken) window.fetch = () => Promise.reject(new TypeError("no network"));
            """

        @Test("a start without a network shows the last list, but never another user's")
        func offline() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.prepared(by: Self.broken) {
                    try await stage.open()
                    try await stage.ask("(sessionStorage.broken = true, inbox.model.order.length)")
                    let kept = "caches.open('bellhop').then((cache) => cache.match('/bellhop/list.json')).then(Boolean)"
                    try await stage.until(kept)
                    try await stage.browser.go(to: "about:blank")
                    try await stage.browser.go(to: "\(stage.origin)/#token=\(try stage.api.token("ada"))")
                    try await stage.until("inbox.status === 'offline' && $$('[part=item]').length === 5")
                    let notice = try await stage.ask("$('[part=notice]').hidden")
                    #expect(notice == false)
                    try await stage.browser.go(to: "about:blank")
                    try await stage.browser.go(to: "\(stage.origin)/#token=\(try stage.api.token("bo"))")
                    try await stage.until("inbox.status === 'offline'")
                    #expect(try await stage.ask("$$('[part=item]').length") == 0)
                    #expect(try await stage.ask(kept) == false)
                }
            }
        }

        @Test("the browser's time zone and language are reported once, and a zone that the user set stays")
        func clock() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, InboxStage.Letter())
                try await stage.browser.tell("Emulation.setTimezoneOverride", ["timezoneId": "Asia/Manila"])
                try await stage.prepared(by: InboxStage.evening) {
                    try await stage.open()
                    let time = try await stage.texts(".time")
                    // 13:32 UTC.
                    #expect(time == ["I går kl. 21:32"])
                    #expect(try await stage.api.call("GET", "/api/settings")["timezone"] == "Asia/Manila")
                    _ = try await stage.api.call("PATCH", "/api/settings", #"{"timezone":"Europe/Oslo"}"#)
                    try await stage.browser.tell("Emulation.setTimezoneOverride", ["timezoneId": "Asia/Tokyo"])
                    try await stage.open()
                    #expect(try await stage.texts(".time") == ["I dag kl. 14:32"])
                }
                try await stage.browser.tell("Emulation.setTimezoneOverride", ["timezoneId": ""])
                #expect(try await stage.api.call("GET", "/api/settings")["timezone"] == "Europe/Oslo")
            }
        }

        @Test("a device with a clock 26 hours behind shows today's notifications under today")
        func wrongClock() async throws {
            try await InboxStage.with { stage in
                _ = try await stage.api.arrive(1)
                let behind = "const now = Date.now; Date.now = () => now() - 26 * 3_600_000;"
                try await stage.prepared(by: behind) {
                    try await stage.open()
                    #expect(try await stage.texts(".day") == ["I DAG"])
                }
            }
        }

        @Test("a notification past its end is marked as expired")
        func expired() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, InboxStage.Letter())
                try await stage.open()
                let age = """
                    (inbox.model.alter(inbox.model.order[0], { expiresAt: "2020-01-01T00:00:00Z" }), inbox.model.changed(),
                    [$("li").classList.contains("over"), $(".time").textContent.endsWith("· Utløpt")])
                    """
                #expect(try await stage.ask(age) == [true, true])
            }
        }
    }
}
