import API
import BellhopJSON
import BellhopRules
import Foundation
import IntegrationSupport
import Pipeline
import Settings
import TestSupport
import Testing

/// A case of the table that the server's rules and the service worker share.
private struct PushCase {
    let row: JSONValue

    static func all() throws -> [PushCase] {
        let text = try Checkout.text("Tests/Tables/service-worker.json")
        return try JSONParser().parse(Array(text.utf8)).get().array?.map(PushCase.init) ?? []
    }

    var name: String { row["case"]?.string ?? "" }
    var expected: String? { row["verdict"]?.string }

    func instant(_ key: String) -> Timestamp? {
        row[key]?.string.flatMap(Timestamp.init(validating:))
    }

    func catalog(in catalogs: CatalogSet) throws -> Catalog {
        let found = catalogs.catalogs.first { $0.app.text == row["app"]?.string }
        return try #require(found)
    }

    func type(in catalog: Catalog) throws -> CatalogType {
        let found = row["type"]?.string.flatMap(EventType.init(validating:)).flatMap { catalog[$0] }
        return try #require(found)
    }

    /// The verdict of the server's rules for a browser.
    func verdict(_ catalogs: CatalogSet, _ zones: ZoneLibrary) throws -> String {
        let catalog = try catalog(in: catalogs)
        let type = try type(in: catalog)
        var recipient = Recipient()
        recipient.timezone = row["zone"]?.string.flatMap(TimeZoneName.init(validating:))
        recipient.pushEnabled = row["pushEnabled"]?.bool ?? true
        if let document = row["preferences"] {
            let whole = PreferenceDocument(normalizing: document, schema: catalog.preferenceSchema)
            recipient.preferences = Preferences(whole.json)
        }
        let token = try #require(DeviceToken(validating: "https://push.example/1"))
        recipient.devices = [Device(subscription: "1", token: token, platform: .web, provider: .webpush)]
        let now = try #require(instant("at"))
        var facts = DecisionFacts(catalog: catalog, type: type, recipient: recipient, now: now) { zones[$0] }
        facts.expiresAt = instant("expiresAt")
        let decision = Decision(facts)
        return Self.word(decision.push ?? decision.devices.first?.outcome)
    }

    private static func word(_ outcome: Outcome?) -> String {
        switch outcome {
        case .send?: "show"
        case .expire?: "expired"
        case .suppress(let reason)?: reason.rawValue
        case .drop?, .wait?: "quiet-hours"
        case nil: "nothing"
        }
    }

    /// The data that a page leaves for the worker, with the user's document as stored.
    func mirror(_ catalogs: CatalogSet) throws -> JSONValue {
        let catalog = try catalog(in: catalogs)
        let types = catalog.types.map { type in
            let facts: JSONValue = [
                "mandatory": .bool(type.isMandatory), "isOn": .bool(type.pushByDefault),
                "quiet": .string(type.quietHours[.web].rawValue),
            ]
            return (type.type.text, facts)
        }
        let hours = catalog.settings.quietHours
        return [
            "types": .object(JSONObject(types)), "preferences": row["preferences"] ?? .null,
            "pushEnabled": row["pushEnabled"] ?? true, "zones": [row["zone"] ?? .null, .string(catalog.timezone.text)],
            "quietHours": [
                "enabled": .bool(hours.enabled), "startHour": .number(JSONNumber(Int64(hours.startHour))),
                "endHour": .number(JSONNumber(Int64(hours.endHour))),
            ],
        ]
    }
}

@Suite("The table of cases for service workers")
struct PushCaseTests {
    @Test("the server's rules reach the verdict of every case in the table")
    func rules() throws {
        let catalogs = try ServerFixture.shipped()
        let zones = ZoneLibrary(environment: ProcessInfo.processInfo.environment)
        let cases = try PushCase.all()
        #expect(cases.count >= 40)
        for one in cases {
            let verdict = try one.verdict(catalogs, zones)
            #expect(verdict == one.expected, "\(one.name)")
        }
    }
}

extension BrowserTests {
    @Suite("The service worker")
    struct ServiceWorkerTests {
        /// Runs the worker's code in a page, with a replacement for the worker's global scope.
        private static let scope = """
            const [source, work] = arguments;
            const kept = { shown: [], opened: [], calls: [], badges: [], listeners: {}, mirror: {}, pages: [], skipped: 0 };
            const scope = {
              addEventListener: (name, listener) => (kept.listeners[name] = listener),
              skipWaiting: () => (kept.skipped += 1),
              location: { origin: location.origin },
              navigator: { setAppBadge: async (n) => kept.badges.push(n), clearAppBadge: async () => kept.badges.push(0) },
              clients: {
                claim: () => {},
                matchAll: async () => kept.pages,
                openWindow: async (address) => kept.opened.push(address),
              },
              registration: {
                showNotification: async (title, options) => kept.shown.push({ title, ...options }),
                pushManager: { subscribe: async () => ({ endpoint: "https://push.example/new", toJSON: () => ({ endpoint: "https://push.example/new", keys: { p256dh: "p", auth: "a" } }) }) },
              },
            };
            const storage = {
              open: async () => ({
                match: async () => new Response(JSON.stringify(kept.mirror)),
                put: async (_, response) => (kept.mirror = await response.json()),
              }),
            };
            const call = async (url, options) => (kept.calls.push({ url: String(url), ...options }), new Response("{}"));
            const make = new Function("self", "caches", "fetch", source + "; return { verdictOf, writeMirror, navigator: self.navigator };");
            const worker = make(scope, storage, call);
            kept.begin = (members) => void make({ ...scope, ...members }, storage, call);
            const fire = async (name, event) => {
              let done;
              kept.listeners[name]({ waitUntil: (promise) => (done = promise), ...event });
              await done;
            };
            return new Function("worker", "kept", "fire", "table", "return (async () => {" + work + "})()")(worker, kept, fire, arguments[2]);
            """

        private static func run(_ work: String, _ table: JSONValue = .null, on stage: InboxStage) async throws
            -> JSONValue
        {
            // A page without a policy: the real page forbids the way in which this test runs the worker's code.
            try await stage.browser.go(to: "\(stage.origin)/host")
            let source = try await stage.browser.run("return fetch('/sw.js').then((response) => response.text())")
            return try await stage.browser.run(scope, [source, .string(work), table])
        }

        @Test("the service worker reaches the verdict of every case in the table")
        func table() async throws {
            try await InboxStage.with { stage in
                let catalogs = try ServerFixture.shipped()
                let cases = try PushCase.all()
                let rows = try cases.map { one -> JSONValue in
                    let type = try one.type(in: one.catalog(in: catalogs))
                    let push: JSONValue = [
                        "type": one.row["type"] ?? .null, "priority": .string(type.priority.rawValue),
                        "expiresAt": one.row["expiresAt"] ?? .null,
                    ]
                    return ["push": push, "mirror": try one.mirror(catalogs), "at": one.row["at"] ?? .null]
                }
                let work = "return table.map(({ push, mirror, at }) => worker.verdictOf(push, mirror, Date.parse(at)));"
                let verdicts = try await Self.run(work, .array(rows), on: stage)
                for (one, verdict) in zip(cases, verdicts.array ?? []) {
                    #expect(verdict.string == one.expected, "\(one.name)")
                }
                #expect(verdicts.array?.count == cases.count)
            }
        }

        @Test("a click leads only to the own site or the app's scheme, marks as read, and reuses an open page")
        func clicks() async throws {
            try await InboxStage.with { stage in
                let work = """
                    kept.mirror = { api: location.origin, token: "t", schemes: ["drop"] };
                    const click = (data) => fire("notificationclick", { notification: { data, close() {} } });
                    for (const url of ["/schedule", "javascript:alert(1)", "https://evil.example/", "//evil.example", "drop://x", null])
                      await click({ id: "noti_0000000000000001", url });
                    const went = [];
                    kept.pages = [{ url: location.origin + "/", focus: async () => went.push("focus"), navigate: async (to) => went.push(to), postMessage() {} }];
                    await click({ url: "/schedule" });
                    const { method, url, body, headers } = kept.calls[0];
                    return { opened: kept.opened, went, first: [method, new URL(url).pathname, body, headers.Authorization] };
                    """
                let found = try await Self.run(work, on: stage)
                let home = JSONValue.string("\(stage.origin)/")
                let schedule = JSONValue.string("\(stage.origin)/schedule")
                #expect(found["opened"] == [schedule, home, home, home, "drop://x", home])
                #expect(found["went"] == [schedule, "focus"])
                let body = #"{"notificationIds":["noti_0000000000000001"],"state":"read"}"#
                #expect(found["first"] == ["PATCH", "/api/notifications", .string(body), "Bearer t"])
            }
        }

        @Test("a click asks an open page first, and leads only the inbox or a silent page away")
        func asked() async throws {
            try await InboxStage.with { stage in
                let work = """
                    kept.mirror = { api: location.origin, token: "t", schemes: [] };
                    const results = [];
                    for (const answer of [{ isTaken: true }, { isTaken: false }, { isTaken: false, isInbox: true }]) {
                      const went = [];
                      kept.opened = [];
                      const page = {
                        url: location.origin + "/checkout",
                        visibilityState: "visible",
                        focus: async () => went.push("focus"),
                        navigate: async (to) => went.push(new URL(to).pathname),
                        postMessage: (message, [port]) => (went.push([message.bellhop, message.id]), port.postMessage(answer)),
                      };
                      kept.pages = [{ ...page, visibilityState: "hidden" }, page];
                      await fire("notificationclick", { notification: { data: { id: "n1", url: "/schedule" }, close() {} } });
                      results.push([went, kept.opened.map((address) => new URL(address).pathname)]);
                    }
                    return results;
                    """
                let found = try await Self.run(work, on: stage)
                let expected: JSONValue = [
                    [[["open", "n1"], "focus"], []], [[["open", "n1"]], ["/schedule"]],
                    [[["open", "n1"], "/schedule", "focus"], []],
                ]
                #expect(found == expected)
            }
        }

        @Test("a push that the user's focused page shows is not shown again, and others carry icon, language and time")
        func doubled() async throws {
            try await InboxStage.with { stage in
                let work = """
                    kept.mirror = { user: "ada", owner: "ada", api: location.origin, token: "t", lang: "nb" };
                    const push = { json: () => ({ id: "n1", type: "x", title: "Hei", sentAtIso: "2026-02-21T13:32:00Z" }) };
                    const counts = [];
                    const answers = [
                      [true, { isShown: true, user: "ada" }], [true, { isShown: false, user: "ada" }],
                      [true, { isShown: true, user: "bo" }], [false, { isShown: true, user: "ada" }],
                    ];
                    for (const [focused, answer] of answers) {
                      const page = { focused, visibilityState: "visible", postMessage: (_, ports) => ports?.[0].postMessage(answer) };
                      kept.pages = [page];
                      await fire("push", { data: push });
                      counts.push(kept.shown.length);
                    }
                    // Safari requires that each push is shown.
                    worker.navigator.userAgent = "Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15";
                    kept.pages = [{ focused: true, visibilityState: "visible", postMessage: (_, ports) => ports[0].postMessage(answers[0][1]) }];
                    await fire("push", { data: push });
                    counts.push(kept.shown.length);
                    const { icon, badge, lang, timestamp, data } = kept.shown[0];
                    return [counts, new URL(icon).pathname, new URL(badge).pathname, lang, timestamp, data.user];
                    """
                let found = try await Self.run(work, on: stage)
                #expect(found == [[0, 1, 2, 3, 4], "/icon.png", "/badge.png", "nb", 1_771_680_720_000, "ada"])
            }
        }

        @Test("the page closes notifications that the user has read, and those of another user")
        func swept() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                let shown = """
                    Object.defineProperty(Notification, "permission", { get: () => "granted" });
                    window.__closed = [];
                    const id = (number) => "\(APIFixture.id(1))".slice(0, -1) + number;
                    const one = (name, user, data) => ({
                      data: { user: JSON.stringify(["drop", user]), ...data },
                      close: () => __closed.includes(name) || __closed.push(name),
                    });
                    const all = [
                      one("read", "ada", { id: id(1) }), one("unread", "ada", { id: id(4) }), one("new", "ada", { id: id(5) }),
                      one("foreign", "bo", { id: "x" }), one("unknown", "ada", { id: "y" }),
                    ];
                    ServiceWorkerContainer.prototype.getRegistration = async () => ({
                      getNotifications: async () => all,
                      pushManager: { getSubscription: async () => null },
                    });
                    """
                try await stage.prepared(by: shown + InboxStage.unseen) {
                    try await stage.open()
                    try await stage.until("__closed.join() === 'read,foreign'")
                    let body = #"{"notificationIds":["\#(APIFixture.id(4))"]}"#
                    _ = try await stage.api.call("PATCH", "/api/notifications", body)
                    try await stage.api.announce()
                    try await stage.until("__closed.join() === 'read,foreign,unread'")
                    try await stage.ask("inbox.signOut().then(() => true)")
                    try await stage.until("__closed.length === 5")
                }
            }
        }

        @Test("a browser whose push address changes registers the new address and names the previous one")
        func renewal() async throws {
            try await InboxStage.with { stage in
                let work = """
                    const whose = { user: "ada", owner: "ada" };
                    kept.mirror = { ...whose, api: location.origin, token: "t", endpoint: "https://push.example/old", publicKey: "k" };
                    await fire("pushsubscriptionchange", {});
                    return { body: JSON.parse(kept.calls[0].body), mirror: kept.mirror };
                    """
                let found = try await Self.run(work, on: stage)
                #expect(found["body"]?["token"] == "https://push.example/new")
                #expect(found["body"]?["replaces"] == "https://push.example/old")
                #expect(found["body"]?["platform"] == "web")
                #expect(found["mirror"]?["endpoint"] == "https://push.example/new")
            }
        }

        @Test(
            "a push for a user who is not signed in is not shown, and the browser does not register again"
        )
        func strangers() async throws {
            try await InboxStage.with { stage in
                let work = """
                    const push = { json: () => ({ id: "noti_1", type: "x", title: "Secret", badge: 3 }) };
                    const shown = [];
                    for (const mirror of [{}, { user: "bo" }, { user: "bo", owner: "ada" }, { owner: "ada" }, { user: "ada", owner: "ada" }]) {
                      kept.mirror = { api: location.origin, token: "t", ...mirror };
                      await fire("push", { data: push });
                      if (mirror.user !== "ada") await fire("pushsubscriptionchange", {});
                      shown.push(kept.shown.length + kept.badges.length);
                    }
                    return [shown, kept.calls.length];
                    """
                let found = try await Self.run(work, on: stage)
                #expect(found == [[0, 0, 0, 0, 2], 0])
            }
        }

        @Test("a new version replaces the old one only if the app, or the stock page, asks for it")
        func takingOver() async throws {
            try await InboxStage.with { stage in
                let work = """
                    const skipped = [];
                    const origin = location.origin;
                    for (const members of [{}, { bellhop: { takeOver: true } }, { location: { origin, search: "?take-over" } }]) {
                      kept.begin(members);
                      await fire("install", {});
                      skipped.push(kept.skipped);
                    }
                    return skipped;
                    """
                let found = try await Self.run(work, on: stage)
                #expect(found == [0, 1, 2])
            }
        }

        @Test("the worker reports the zone of a user who has travelled, once, as a default")
        func travelling() async throws {
            try await InboxStage.with { stage in
                let work = """
                    const clock = { timezone: "Asia/Tokyo", locale: "nb", user: "u" };
                    kept.mirror = { user: "u", owner: "u", api: "https://inbox.example", token: "t", clock, zones: [null, "Asia/Tokyo", "UTC"] };
                    const push = { data: { json: () => ({ id: "noti_1", type: "t", title: "a" }) } };
                    await fire("push", push);
                    await fire("push", push);
                    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
                    const [call, ...more] = kept.calls;
                    const report = JSON.parse(call.body);
                    return [call.url, report.timezone === here, report.isDefault, more.length, kept.mirror.zones[1] === here];
                    """
                let found = try await Self.run(work, on: stage)
                #expect(found == ["https://inbox.example/api/settings", true, true, 0, true])
            }
        }

        @Test("concurrent writes to the mirror do not undo each other")
        func turns() async throws {
            try await InboxStage.with { stage in
                let work = """
                    await Promise.all(Array.from({ length: 20 }, (_, number) => worker.writeMirror({ [`m${number}`]: number })));
                    await worker.writeMirror(({ m7 }) => (m7 === 8 ? { m7: 9 } : null));
                    return [Object.keys(kept.mirror).length, kept.mirror.m7];
                    """
                let found = try await Self.run(work, on: stage)
                #expect(found == [20, 7])
            }
        }

        @Test("a push is shown with its badge number if no rule forbids it, and malformed data shows nothing")
        func delivery() async throws {
            try await InboxStage.with { stage in
                let permission: JSONValue = ["origin": .string(stage.origin), "permissions": ["notifications"]]
                try await stage.browser.tell("Browser.grantPermissions", permission)
                try await stage.open(as: "bo", app: "padel")
                try await stage.browser.run(
                    """
                    const policy = trustedTypes.createPolicy("bellhop-inbox", { createScriptURL: (url) => url });
                    return navigator.serviceWorker.register(policy.createScriptURL("/sw.js?records"), { scope: "/" })
                        .then(() => navigator.serviceWorker.ready).then(() => true);
                    """
                )
                try await stage.browser.run(Self.turnOn)
                let number = try await Self.registration(on: stage)
                try await Self.openAndSettle(stage)
                // High priority, since the browser removes any other notification on its own, whether it is looked for
                // or not.
                let match = """
                    {"id":"noti_1","type":"scheduled_match_new","title":"Ny match i schemat",
                     "body":"Tisdag 19:00 på PDL Center.","url":"/schedule","tag":"a","priority":"high"}
                    """
                try await Self.deliver(match, to: number, on: stage)
                let expected: JSONValue = [["Ny match i schemat", "Tisdag 19:00 på PDL Center.", "a"]]
                try await Self.waitUntilShown(1, on: stage)
                #expect(try await Self.shown(stage) == expected)
                // The document as the app writes it, with this type off.
                let off = #"{"eventToggles":{"scheduled_match_new":false}}"#
                _ = try await stage.api.call("PUT", "/api/preferences", off, as: "bo", app: "padel")
                try await Self.openAndSettle(stage)
                let muted = #"{"eventType":"scheduled_match_new","title":"Muted","tag":"b"}"#
                try await Self.deliver(muted, to: number, on: stage)
                try await Self.deliver("not JSON", to: number, on: stage)
                let announcement = """
                    {"eventType":"admin_announcement","title":"Banor stängda","route":"/","tag":"c","priority":"high"}
                    """
                try await Self.deliver(announcement, to: number, on: stage)
                do {
                    try await Self.waitUntilShown(2, on: stage)
                } catch {
                    let (shown, decider) = (try await Self.shown(stage), try await stage.browser.run(Self.decider))
                    Issue.record("shown: \(shown), and the worker decides by \(decider)")
                    throw error
                }
                let all = try await Self.shown(stage)
                #expect(all.array?.contains(["Banor stängda", "", "c"]) == true)
                #expect(all.array?.count == 2)
                try await stage.expectQuiet()
            }
        }

        /// Opens the page, and waits until it has looked for notifications to remove, as it does at each start.
        private static func openAndSettle(_ stage: InboxStage) async throws {
            let counting = """
                const { prototype } = globalThis.ServiceWorkerRegistration ?? { prototype: {} };
                const list = prototype.getNotifications;
                window.__lists = 0;
                prototype.getNotifications = async function () {
                  try {
                    return await list.call(this);
                  } finally {
                    window.__lists += 1;
                  }
                };
                """
            try await stage.prepared(by: counting) {
                try await stage.open(as: "bo", app: "padel")
                try await stage.until("window.__lists > 0")
            }
        }

        /// Waits until the worker has shown this number of notifications.
        private static func waitUntilShown(_ count: JSONValue, on stage: InboxStage) async throws {
            let number = "return caches.open('shown').then((cache) => cache.keys()).then(({ length }) => length);"
            try await eventually("the worker has shown \(count)") { try await stage.browser.run(number) == count }
        }

        /// The number that the browser gave to the service worker registration of this origin.
        private static func registration(on stage: InboxStage) async throws -> String {
            try await stage.browser.go(to: "chrome://serviceworker-internals/")
            let search = """
                const all = [...document.querySelectorAll(".serviceworker-registration")];
                return all.find((one) => one.innerText.includes(arguments[0] + "/"))?.dataset.registrationId ?? null;
                """
            let origin = JSONValue.string(stage.origin)
            try await eventually("the browser names it") {
                try await stage.browser.run(search, [origin]).string != nil
            }
            let number = try await stage.browser.run(search, [origin]).string
            return try #require(number)
        }

        private static func deliver(_ text: String, to number: String, on stage: InboxStage) async throws {
            try await stage.browser.tell(
                "ServiceWorker.deliverPushMessage",
                ["origin": .string(stage.origin), "registrationId": .string(number), "data": .string(text)]
            )
        }

        /// Stores the state that remains after the signed-in user has turned push on, under the lock of all writers.
        private static let turnOn = """
            return navigator.locks.request("bellhop-mirror", async () => {
              const cache = await caches.open("bellhop");
              const mirror = await (await cache.match("/bellhop/mirror.json")).json();
              await cache.put("/bellhop/mirror.json", new Response(JSON.stringify({ ...mirror, owner: mirror.user })));
              return true;
            });
            """

        /// The values that the worker reads when a push arrives.
        private static let decider = """
            return caches.open("bellhop").then(async (cache) => {
              const kept = await cache.match("/bellhop/mirror.json");
              const { user, owner, pushEnabled, preferences } = kept ? await kept.json() : {};
              return JSON.stringify({ isKept: Boolean(kept), user, owner, pushEnabled, preferences });
            });
            """

        /// Title, body and tag of each notification that the browser shows.
        private static func shown(_ stage: InboxStage) async throws -> JSONValue {
            try await stage.browser.run(
                """
                return navigator.serviceWorker.ready.then((registration) => registration.getNotifications())
                    .then((all) => all.map(({ title, body, tag }) => [title, body, tag]));
                """
            )
        }
    }
}
