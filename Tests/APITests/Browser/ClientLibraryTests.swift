import BellhopJSON
import Foundation
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    /// The client library, on its own, in a browser and in Node.
    @Suite("The client library")
    struct ClientLibraryTests {
        /// Uses every call of the library as an app does, and returns what it found.
        private static let session = """
            async ({ BellhopClient, CallError, browserDevice }, base, token) => {
              const found = {};
              const client = new BellhopClient({ base, token: async () => token });
              const list = await client.list({ limit: 2 });
              const [first, second] = list.data;
              const rest = await client.list({ before: list.next });
              found.list = [list.data.length, rest.data.length, list.unreadCount];

              // The stream begins with this change. A change before the server has read the inbox for the stream would
              // be a part of that beginning, too, and not a separate event.
              await client.mark([rest.data[0].id]);
              const events = [];
              let heard;
              const awaited = (...types) => new Promise((resolve) => (heard = (event) => types.includes(event) && resolve()));
              let told = awaited("badge", "resync");
              const handler = { since: () => list.lastEventId, event: (type, data) => (events.push([type, data]), heard(type)) };
              const connected = new Promise((resolve) => (handler.connected = resolve));
              const live = client.live(handler);
              await connected;
              await told;
              events.length = 0;
              told = awaited("read");
              await client.mark([first.id]);
              await told;
              told = awaited("state");
              await client.mark([second.id], "archived");
              await told;
              live.stop();
              found.events = events.filter(([type]) => type !== "badge").map(([type, { state, ids }]) => [type, state ?? null, ids[0] === (state ? second.id : first.id)]);
              await client.markAll();
              found.unread = (await client.unreadCount()).unreadCount;

              const clock = async (timezone) => (await client.reportClock({ timezone, locale: "sv" })).timezone;
              found.zones = [await clock("Asia/Manila"), await clock("Asia/Tokyo")];
              found.zones.push((await client.changeSettings({ timezone: "Europe/Oslo" })).timezone, await clock("Asia/Manila"));
              found.settings = await client.settings();
              found.types = (await client.catalog()).types.length > 0;

              await client.changePreferences({ eventToggles: { promotional: true } });
              await client.changePreferences({ quietHours: { enabled: true } });
              const { enabled, eventToggles, quietHours } = await client.preferences();
              found.preferences = [enabled, eventToggles.promotional, quietHours.enabled];
              found.whole = (await client.replacePreferences({ enabled: false })).enabled;
              found.late = await client.replacePreferences({}, { onlyNew: true }).catch(({ status }) => status);

              await client.follow("venue:4 2");
              await client.follow("venue:4 2", { muted: true });
              found.follows = await client.follows();
              await client.unfollow("venue:4 2");
              found.unfollowed = await client.follows();

              const morning = { localTime: "08:00", title: "God morgen", body: "", eventType: "system" };
              found.set = [(await client.setReminder("morning", morning)).localTime];
              found.set.push((await client.setReminder("morning", { ...morning, localTime: "07:00" })).localTime);
              found.set.push((await client.reminders()).map(({ id }) => id));
              await client.removeReminder("morning");

              const { id } = await client.addReminder({ localTime: "09:00", title: "God morgen", body: "", eventType: "system" });
              found.reminder = [(await client.changeReminder(id, { localTime: "10:00" })).localTime, (await client.reminders()).length];
              await client.removeReminder(id);
              found.reminders = await client.reminders();

              const [before, after] = ["ExponentPushToken[aaaaaaaaaaaaaaaaaaaaaa]", "ExponentPushToken[bbbbbbbbbbbbbbbbbbbbbb]"];
              await client.registerDevice({ token: before, platform: "ios", permission: "granted" });
              found.device = (await client.registerDevice({ token: after, platform: "ios", replaces: before })).provider;
              found.permission = (await client.changePermission(after, "denied")).permission;
              await client.removeDevice(after);
              found.key = (await client.webPushKey()).publicKey;
              const browser = { toJSON: () => ({ endpoint: "https://push.example/2", keys: { auth: "a", p256dh: "p" } }) };
              found.browser = browserDevice(browser, "https://push.example/1", "granted");

              found.wrong = await client.follow("venue:4 2", { muted: 1 }).catch((error) => [error instanceof CallError, error.status, error.code, error.field]);
              const stranger = (renew) => new BellhopClient({ base, token: "no token", renew });
              found.stranger = await stranger().settings().catch(({ status }) => status);
              found.renewed = (await stranger(async (refused) => refused === "no token" && token).settings()).timezone;
              found.nobody = await new BellhopClient({ base, token: null }).settings().catch(({ status }) => status);
              return found;
            }
            """

        private static let expected: JSONValue = [
            "list": [2, 1, 3],
            "events": [["read", .null, true], ["state", "archived", true]],
            "unread": 0,
            "zones": ["Asia/Manila", "Asia/Tokyo", "Europe/Oslo", "Europe/Oslo"],
            "settings": [
                "pushEnabled": true, "emailEnabled": true, "locale": "sv", "timezone": "Europe/Oslo", "email": .null,
            ],
            "types": true,
            "preferences": [true, true, true],
            "whole": false,
            "late": 412,
            "follows": [["topic": "venue:4 2", "muted": true, "role": .null]],
            "unfollowed": [],
            "set": ["08:00", "07:00", ["morning"]],
            "reminder": ["10:00", 1],
            "reminders": [],
            "device": "expo",
            "permission": "denied",
            "key": "BPublic",
            "browser": [
                "token": "https://push.example/2", "platform": "web", "permission": "granted",
                "subscription": ["endpoint": "https://push.example/2", "keys": ["auth": "a", "p256dh": "p"]],
                "replaces": "https://push.example/1",
            ],
            "wrong": [true, 422, "invalid-field", "muted"],
            "stranger": 401,
            "renewed": "Europe/Oslo",
            "nobody": 401,
        ]

        /// Applies every event to every state of the machines, and returns what differs from the table.
        private static let machines = """
            async ({ PermissionState, SubscriptionState }, table) => {
              const faults = [];
              for (const [Machine, { initial, transitions, ...facts }] of [[PermissionState, table.permission], [SubscriptionState, table.subscription]]) {
                const states = [...new Set([...initial, ...transitions.map(([, , to]) => to)])];
                const events = [...new Set([...transitions.map(([, event]) => event), "constructor"])];
                for (const state of states) {
                  for (const event of events) {
                    const machine = new Machine(state);
                    const next = transitions.find((one) => one[0] === state && one[1] === event)?.[2];
                    if (machine.apply(event) !== Boolean(next) || machine.state !== (next ?? state)) faults.push([state, event]);
                  }
                  const machine = new Machine(state);
                  if (facts.permissions && facts.permissions[state] !== machine.permission) faults.push([state, "permission"]);
                  if (facts.receiving && facts.receiving.includes(state) !== machine.receivesPushes) faults.push([state, "receives"]);
                  if (facts.roles && (facts.roles[state] ?? null) !== machine.role) faults.push([state, "role"]);
                }
                if (new Machine().state !== initial[0]) faults.push(["initial"]);
              }
              for (const [permission, state] of Object.entries(table.permission.launches)) {
                if (PermissionState.atLaunch(permission).state !== state) faults.push(["launch", permission]);
              }
              try {
                new PermissionState("toString");
                faults.push(["an unknown state"]);
              } catch {}
              return [table.permission.transitions.length + table.subscription.transitions.length, faults];
            }
            """

        private static func table() throws -> JSONValue {
            try JSONParser().parse(Array(try Checkout.text("Tests/Tables/state-machines.json").utf8)).get()
        }

        private static func prepare(_ stage: InboxStage) async throws {
            for number in 1...3 { try await stage.deliver(number, InboxStage.Letter()) }
        }

        @Test("in a browser, every call has its effect, and updates arrive on the stream")
        func browser() async throws {
            try await InboxStage.with { stage in
                try await Self.prepare(stage)
                try await stage.browser.go(to: "\(stage.origin)/host")
                let found = try await stage.browser.run(
                    "return import('/bellhop-client.js').then((library) => (\(Self.session))(library, ...arguments));",
                    [.string(stage.origin), .string(try stage.api.token("ada"))]
                )
                #expect(found == Self.expected)
                let machines = try await stage.browser.run(
                    "return import('/bellhop-client.js').then((library) => (\(Self.machines))(library, ...arguments));",
                    [try Self.table()]
                )
                #expect(machines == [34, []])
            }
        }

        @Test(
            "in Node, every call has its effect, and updates arrive on the stream",
            .enabled(if: NodeScript.isThere, "needs node")
        )
        func node() async throws {
            try await InboxStage.with { stage in
                try await Self.prepare(stage)
                let library = try await stage.api.call("GET", "/bellhop-client.js", as: nil).text
                let token = try stage.api.token("ada")
                let arguments: [JSONValue] = [.string(stage.origin), .string(token), try Self.table()]
                let texts = arguments.map { String(decoding: JSONWriter.canonicalBytes(of: $0), as: UTF8.self) }
                let module = """
                    const source = \(String(decoding: JSONWriter.canonicalBytes(of: .string(library)), as: UTF8.self));
                    const library = await import(`data:text/javascript,${encodeURIComponent(source)}`);
                    const found = await (\(Self.session))(library, \(texts[0]), \(texts[1]));
                    const machines = await (\(Self.machines))(library, \(texts[2]));
                    console.log(JSON.stringify([found, machines]));
                    """
                let output = try await NodeScript.output(of: module)
                let found = try JSONParser().parse(Array(output.utf8)).get()
                #expect(found == [Self.expected, [34, []]])
            }
        }
    }
}
