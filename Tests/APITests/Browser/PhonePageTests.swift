import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    /// Runs the Expo example of docs/phones.md against the API, with stand-ins for the modules of a phone.
    @Suite("The page about phone apps")
    struct PhonePageTests {
        @Test("the Expo example registers, replaces and removes a device, and opens a tap")
        func expo() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.browser.go(to: "\(stage.origin)/host")
                let token = try stage.api.token("ada")
                let script = """
                    \(try ExpoExample.script(at: stage.origin, token: token))
                    const steps = [];
                    return (async () => {
                      const { timezone } = await (await reportClock()).json();
                      await register(false);
                      steps.push({ isHere: timezone === Intl.DateTimeFormat().resolvedOptions().timeZone, asked: system.asked, channels: system.channels, kept: kept.get("pushToken") });
                      await register(true);
                      steps.push({ asked: system.asked, status: system.status });
                      system.token = "ExponentPushToken[second]";
                      await listeners.token();
                      steps.push({ kept: kept.get("pushToken") });
                      const list = await (await call("GET", "/api/notifications")).json();
                      const { id } = list.data.find((item) => !item.read);
                      listeners.tap({ notification: { request: { content: { data: { notificationId: id, route: "/t/1" } } } } });
                      steps.push({ routes: system.routes, id });
                      Object.assign(window, { system, logOut });
                      return steps;
                    })();
                    """
                let steps = try #require(try await stage.browser.run(script).array)
                #expect(steps[0]["asked"] == 0)
                #expect(steps[0]["isHere"] == true)
                #expect(steps[0]["kept"] == "ExponentPushToken[first]")
                #expect(steps[0]["channels"]?.array?.first == ["transactions", 3])
                #expect(steps[1]["asked"] == 1)
                #expect(steps[1]["status"] == "granted")
                #expect(steps[2]["kept"] == "ExponentPushToken[second]")
                #expect(steps[3]["routes"] == ["/t/1"])
                let servers = stage.api.servers
                let live = "FROM push_subscriptions WHERE revoked_at IS NULL"
                #expect(try await servers.count("SELECT count(*) \(live)") == 1)
                let registered = "AND device_token = 'ExponentPushToken[second]' AND permission = 'granted'"
                #expect(try await servers.count("SELECT count(*) \(live) \(registered)") == 1)
                let id = try #require(steps[3]["id"]?.string)
                try await eventually("the tapped notification is read") {
                    let read = "SELECT count(*) FROM notifications WHERE id = '\(id)' AND read_at IS NOT NULL"
                    return try await servers.count(read) == 1
                }
                let left = try await stage.browser.run("return window.logOut().then(() => window.system);")
                #expect(left["isDismissed"] == true)
                #expect(left["badge"] == 0)
                #expect(try await servers.count("SELECT count(*) \(live)") == 0)
            }
        }
    }
}
