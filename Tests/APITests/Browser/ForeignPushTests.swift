import BellhopJSON
import TestSupport
import Testing

extension BrowserTests {
    /// A site with its own push notifications, and users whom their tokens do not name.
    @Suite("Push of other programs and unnamed users")
    struct ForeignPushTests {
        /// A site whose own service worker has a subscription and has shown notifications.
        private static let site = """
            Object.defineProperty(Notification, "permission", { get: () => "granted" });
            window.__lost = [];
            const own = (data, name) => ({ data, close: () => __lost.push(name) });
            const subscription = {
              endpoint: "https://push.example/site",
              options: { applicationServerKey: new Uint8Array([4, 1, 2]).buffer },
              unsubscribe: async () => (__lost.push("subscription"), true),
            };
            ServiceWorkerContainer.prototype.getRegistration = async () => ({
              getNotifications: async () => [own(null, "plain"), own({ id: "x", campaign: 7 }, "campaign")],
              pushManager: { getSubscription: async () => subscription },
            });
            """

        /// Leaves data for the worker, as after a start with push, under the lock of all writers.
        private static let leave = """
            navigator.locks.request("bellhop-mirror", async () => {
              const cache = await caches.open("bellhop");
              const mirror = await (await cache.match("/bellhop/mirror.json")).json();
              await cache.put("/bellhop/mirror.json", new Response(JSON.stringify({ ...mirror, ...JSON.parse(arguments[0]) })));
              return true;
            })
            """

        /// Whether the component has a subscription of the signed-in user, after the report at a start.
        private static let isOn = """
            inbox.device.sayAlive()
              .then(() => Promise.all([inbox.device.subscription(), inbox.device.isOwn()]))
              .then(([subscription, isOwn]) => Boolean(subscription) && isOwn)
            """

        @Test("a subscription and notifications of the site's own service worker stay when users sign in and out")
        func site() async throws {
            try await InboxStage.with { stage in
                try await stage.prepared(by: Self.site) {
                    try await stage.open()
                    let mirrors = [
                        "{}", #"{"endpoint":"https://push.example/bellhop","publicKey":"BPublic","owner":"bo"}"#,
                    ]
                    for mirror in mirrors {
                        try await stage.ask(Self.leave, .string(mirror))
                        let isOn = try await stage.ask(Self.isOn)
                        #expect(isOn == false, "\(mirror)")
                    }
                    let lost = try await stage.ask("inbox.signOut().then(() => __lost)")
                    #expect(lost == [])
                }
            }
        }

        @Test("a subscription with Bellhop's key is ended for another user, even if its address has changed")
        func renewed() async throws {
            try await InboxStage.with { stage in
                try await stage.prepared(by: Self.site) {
                    try await stage.open()
                    let mirror = #"{"endpoint":"https://push.example/old","publicKey":"BAEC","owner":"bo"}"#
                    try await stage.ask(Self.leave, .string(mirror))
                    let lost = try await stage.ask("inbox.device.sayAlive().then(() => __lost)")
                    #expect(lost == ["subscription"])
                }
            }
        }

        /// A token that the server rejects, with a claim other than `sub` for its user.
        private static let tokens = """
            const token = (claims) => "e30." + btoa(JSON.stringify({ app: "drop", ...claims })).replaceAll("=", "") + ".e30";
            """

        @Test("users whose tokens have no text as sub have no name, and each renewed token starts again")
        func unnamed() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                let names = try await stage.browser.run(
                    Self.tokens
                        + """
                        const inbox = document.querySelector("bellhop-inbox");
                        return [{ profile_id: "a" }, { sub: 7 }, { sub: null }, { sub: "ada" }].map((claims) => {
                          inbox.token = token(claims);
                          return inbox.device.user;
                        });
                        """
                )
                #expect(names == [.null, .null, .null, #"["drop","ada"]"#])
                let isNew = try await stage.browser.run(
                    Self.tokens
                        + """
                        const inbox = document.querySelector("bellhop-inbox");
                        let first;
                        const renewed = new Promise((resolve) => {
                          inbox.renewToken = async (refused) => {
                            if (refused === token({ profile_id: "a" })) return token({ profile_id: "b" });
                            resolve(inbox.client !== first);
                            return null;
                          };
                        });
                        inbox.token = token({ profile_id: "a" });
                        first = inbox.client;
                        return renewed;
                        """
                )
                #expect(isNew == true)
            }
        }
    }

    /// A call's ten seconds, with a clock that the test moves.
    @Suite("The time limit of a call")
    struct CallTimeTests {
        @Test("the limit also ends the wait for a token and for its renewal", arguments: ["token", "renew"])
        func waits(part: String) async throws {
            try await InboxStage.with { stage in
                try await stage.browser.go(to: "\(stage.origin)/host")
                let work = """
                    return import("/bellhop-client.js").then(async ({ BellhopClient, CallError }) => {
                      const real = globalThis.setTimeout;
                      let end;
                      globalThis.setTimeout = (work, time, ...rest) => (time === 10_000 ? ((end = work), 0) : real(work, time, ...rest));
                      const never = () => (end(), new Promise(() => {}));
                      const client = new BellhopClient({ base: location.origin, token: () => "no token", [arguments[0]]: never });
                      return client.settings().catch((error) => [error instanceof CallError, error.status]);
                    });
                    """
                #expect(try await stage.browser.run(work, [.string(part)]) == [true, 0])
            }
        }
    }
}
