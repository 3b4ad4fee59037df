import BellhopJSON
import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@Suite(
    "Device, follow and reminder routes",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DeviceRouteTests {
    @Test("a device is registered as specified, and a repeated registration changes nothing")
    func register() async throws {
        try await APIFixture.with { api in
            let body = #"{"token":"ExponentPushToken[abc]","platform":"ios"}"#
            let first = try await api.call("POST", "/api/push-token", body)
            #expect(first.status == 200 && first["provider"] == "expo" && first["permission"] == .some(.null))
            let again = try await api.call("POST", "/api/push-token", body)
            #expect(again.json == first.json)
            #expect(try await api.servers.count("SELECT count(*) FROM push_subscriptions") == 1)
            let devices = try await api.servers.column("SELECT devices FROM people WHERE user_id = 'ada'")
            #expect(devices.first??.contains("ExponentPushToken[abc]") == true)
        }
    }

    @Test(
        "the provider is derived if only one fits",
        arguments: [
            ("safe", #"{"token":"t","platform":"android"}"#, "fcm"),
            ("safe", #"{"token":"t","platform":"ios"}"#, "fcm"),
            ("padel", #"{"token":"t","platform":"ios"}"#, "apns"), ("drop", #"{"token":"t","platform":"ios"}"#, "fcm"),
            ("drop", #"{"token":"ExpoPushToken[t]","platform":"android"}"#, "expo"),
        ]
    )
    func inferred(app: String, body: String, provider: String) async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("POST", "/api/push-token", body, app: app)
            #expect(answer["provider"]?.string == provider)
        }
    }

    @Test(
        "an invalid registration is rejected",
        arguments: [
            ("drop", #"{"platform":"ios"}"#, "token"), ("drop", #"{"token":"t"}"#, "platform"),
            ("drop", #"{"token":"t","platform":"watch"}"#, "platform"),
            ("padel", #"{"token":"t","platform":"android"}"#, "provider"),
            ("padel", #"{"token":"t","platform":"ios","provider":"fcm"}"#, "provider"),
            ("padel", #"{"token":"http://10.0.0.1/x","platform":"web"}"#, "token"),
            ("padel", #"{"token":"https://fcm.googleapis.com/x","platform":"web"}"#, "subscription"),
            ("drop", #"{"token":"t","platform":"ios","provider":"fcm","userId":"bob"}"#, "userId"),
            ("drop", #"{"token":"ExponentPushToken[t]","platform":"web"}"#, "platform"),
            ("drop", #"{"token":"ExponentPushToken[t]","platform":"ios","provider":"fcm"}"#, "token"),
            ("drop", #"{"token":"t","platform":"ios","provider":"expo"}"#, "token"),
            ("padel", #"{"token":"t","platform":"android","provider":"apns"}"#, "provider"),
            ("padel", #"{"token":"t","platform":"web","provider":"apns"}"#, "provider"),
        ]
    )
    func refused(app: String, body: String, field: String) async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("POST", "/api/push-token", body, app: app)
            #expect(answer.status == 422)
            #expect(answer.field == field)
            #expect(try await api.servers.count("SELECT count(*) FROM push_subscriptions") == 0)
        }
    }

    @Test("a browser endpoint outside the app's push services is rejected, and nothing of it is stored")
    func strangeEndpoints() async throws {
        let padel = try #require(AppID(validating: "padel"))
        try await APIFixture.with(endpointHosts: [padel: .known]) { api in
            let hosts = [
                "h1.evil.example", "localhost:22", "fcm.googleapis.com.evil.example", "fcm.googleapis.com:8443",
            ]
            for host in hosts {
                let body = Self.browser("https://\(host)/x")
                let answer = try await api.call("POST", "/api/push-token", body, app: "padel")
                #expect(answer.status == 422 && answer.field == "token", "\(host)")
            }
            #expect(try await api.servers.count("SELECT count(*) FROM push_subscriptions") == 0)
            let known = Self.browser("https://fcm.googleapis.com/fcm/send/x")
            #expect(try await api.call("POST", "/api/push-token", known, app: "padel").status == 200)
        }
    }

    private static func browser(_ endpoint: String) -> String {
        """
        {"token":"\(endpoint)","platform":"web","provider":"webpush","subscription":{"endpoint":"\(endpoint)","keys":{
        "p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth":"BTBZMqHH6r4Tts7J_aSIgg"}}}
        """
    }

    @Test("only a token that the user has had gets a tombstone, and a device that is renamed often makes few of them")
    func buriedTokens() async throws {
        try await APIFixture.with { api in
            func register(_ token: String, replacing former: String? = nil) async throws {
                let replaces = former.map { #","replaces":"\#($0)""# } ?? ""
                let body = #"{"token":"\#(token)","platform":"ios","provider":"fcm"\#(replaces)}"#
                #expect(try await api.call("POST", "/api/push-token", body).status == 200)
            }
            let buried = "SELECT count(*) FROM tombstones"
            for number in 1...5 { try await register("t", replacing: "invented-\(number)") }
            #expect(try await api.servers.count(buried) == 0)
            // The device continues under its new token.
            try await register("t2", replacing: "t")
            #expect(try await api.servers.count(buried) == 1)
            for number in 3...6 {
                try await register("t\(number)", replacing: "t\(number - 1)")
                let end = #"{"token":"t\#(number)"}"#
                #expect(try await api.call("DELETE", "/api/push-token", end).status == 204)
                try await register("t\(number)")
            }
            #expect(try await api.servers.count(buried) == 1)
            #expect(
                try await api.servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL") == 1
            )
            _ = try await api.servers.owner.run("UPDATE push_subscriptions SET renamed_at = now() - interval '2 hours'")
            try await register("t7", replacing: "t6")
            #expect(try await api.servers.count(buried) == 2)
        }
    }

    @Test("a token belongs to the last user who registered it, and that user's rows are hidden from the previous user")
    func lastOwner() async throws {
        try await APIFixture.with { api in
            let body = #"{"token":"shared","platform":"ios","provider":"fcm"}"#
            _ = try await api.call("POST", "/api/push-token", body, as: "ada")
            #expect(try await api.call("POST", "/api/push-token", body, as: "bob").status == 200)
            let live = "SELECT profile_id FROM push_subscriptions WHERE revoked_at IS NULL"
            #expect(try await api.servers.column(live) == ["bob"])
            let copies = try await api.servers.column("SELECT user_id FROM people WHERE devices LIKE '%shared%'")
            #expect(copies == ["bob"])
            // A user cannot revoke a device that now belongs to another user.
            _ = try await api.call("DELETE", "/api/push-token", #"{"token":"shared"}"#, as: "ada")
            #expect(try await api.servers.column(live) == ["bob"])
            _ = try await api.call("POST", "/api/push-token", body, as: "ada")
            #expect(try await api.servers.column(live) == ["ada"])
        }
    }

    @Test("a log-out revokes a device and may be repeated, and a permission requires an active device")
    func logOut() async throws {
        try await APIFixture.with { api in
            let body = #"{"token":"t","platform":"ios","provider":"fcm","permission":"undetermined"}"#
            _ = try await api.call("POST", "/api/push-token", body)
            let denied = #"{"token":"t","permission":"denied"}"#
            #expect(try await api.call("PATCH", "/api/push-token", denied)["permission"] == "denied")
            #expect(
                try await api.call("PATCH", "/api/push-token", #"{"token":"t","permission":"maybe"}"#).status == 422
            )
            for _ in 0..<2 {
                #expect(try await api.call("DELETE", "/api/push-token", #"{"token":"t"}"#).status == 204)
            }
            let gone = try await api.call("PATCH", "/api/push-token", denied)
            #expect(gone.status == 404 && gone.code == "unknown-token")
            #expect(try await api.call("POST", "/api/push-token", body).status == 200)
        }
    }

    @Test("a new device also gets the deliveries that are still deferred by its user's quiet hours")
    func lateDevice() async throws {
        try await APIFixture.with { api in
            let id = try await api.notify(1)
            _ = try await api.servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, due_at)
                VALUES ('drop', 'ada', $1, 'push', 'sub_0000000000000001', 'deferred', 'quiet-hours', now() + interval '1 h')
                """,
                [.text(id)]
            )
            let body = #"{"token":"late","platform":"ios","provider":"fcm"}"#
            let device = try await api.call("POST", "/api/push-token", body)
            let targets = try await api.servers.column("SELECT target FROM deliveries ORDER BY updated_at, target")
            #expect(targets.contains(device["id"]?.string))
        }
    }

    @Test("topics are followed, muted and left in the app's spelling, and users cannot give themselves a role")
    func follows() async throws {
        try await APIFixture.with { api in
            let path = "/api/follows/safe:1:0xABCD"
            let followed = try await api.call("PUT", path, app: "safe")
            #expect(followed.json == ["topic": "safe:1:0xabcd", "muted": false, "role": .null])
            #expect(try await api.call("PUT", path, #"{"muted":true}"#, app: "safe")["muted"] == true)
            #expect(try await api.call("PUT", path, #"{"role":"owner"}"#, app: "safe").field == "role")
            let list = try await api.call("GET", "/api/follows", app: "safe")
            #expect(list["data"] == [["topic": "safe:1:0xabcd", "muted": true, "role": .null]])
            for _ in 0..<2 { #expect(try await api.call("DELETE", path, app: "safe").status == 204) }
            #expect(try await api.call("GET", "/api/follows", app: "safe")["data"] == [])
            #expect(try await api.call("PUT", "/api/follows/venue:a%2Fb", app: "venues")["topic"] == "venue:a/b")
            let other = try await api.call("PUT", "/api/follows/staff:1", app: "venues")
            #expect(other.status == 422 && other.field == "topic")
        }
    }

    @Test("a user may follow at most a thousand topics")
    func mostFollows() async throws {
        try await APIFixture.with { api in
            _ = try await api.servers.owner.run(
                """
                INSERT INTO follows (app, topic, user_id, since, source_time)
                SELECT 'venues', 'venue:' || n, 'ada', now(), now() FROM generate_series(1, 1000) n
                """
            )
            let more = try await api.call("PUT", "/api/follows/venue:1001", app: "venues")
            #expect(more.status == 409 && more.code == "too-many-follows")
            #expect(try await api.call("PUT", "/api/follows/venue:7", app: "venues").status == 200)
        }
    }

    @Test("a reminder is created, changed and deleted, and shows its next time")
    func reminders() async throws {
        try await APIFixture.with { api in
            let body =
                #"{"localTime":"09:00","days":["mon","fri"],"title":"Hei","body":"Ta en pause","eventType":"transaction_complete"}"#
            let made = try await api.call("POST", "/api/reminders", body)
            #expect(made.status == 201 && made["days"] == ["mon", "fri"] && made["timezone"] == "Europe/Oslo")
            let ring = try #require(made["nextFireAt"]?.string)
            let clock = "SELECT to_char($1::text::timestamptz AT TIME ZONE 'Europe/Oslo', 'HH24:MI')"
            #expect(try await api.servers.column(clock, [.text(ring)]) == ["09:00"])
            let id = try #require(made["id"]?.string)
            let path = "/api/reminders/\(id)"
            let changed = try await api.call("PATCH", path, #"{"localTime":"10:30","days":null}"#)
            #expect(changed["localTime"] == "10:30" && changed["title"] == "Hei")
            #expect(changed["days"]?.array?.count == 7)
            let typed = #"{"eventType":"system","timezone":"Asia/Tokyo"}"#
            #expect(try await api.call("PATCH", path, typed)["eventType"] == "system")
            let stored = "SELECT concat_ws('|', event_type, timezone, local_time) FROM reminders"
            #expect(try await api.servers.column(stored) == ["system|Asia/Tokyo|10:30"])
            #expect(try await api.call("GET", "/api/reminders")["data"]?.array?.count == 1)
            #expect(try await api.call("DELETE", path).status == 204)
            #expect(try await api.call("DELETE", path).status == 404)
            #expect(try await api.call("PATCH", path, "{}").status == 404)
            #expect(try await api.call("GET", "/api/reminders")["data"] == [])
        }
    }

    @Test(
        "an invalid reminder is rejected",
        arguments: [
            (#"{"title":"a","body":""}"#, "localTime"), (#"{"localTime":"9:00","title":"a","body":""}"#, "localTime"),
            (#"{"localTime":"09:00","body":""}"#, "title"), (#"{"localTime":"09:00","title":"a"}"#, "body"),
            (#"{"localTime":"09:00","title":"a","body":"","days":[]}"#, "days"),
            (#"{"localTime":"09:00","title":"a","body":"","days":["fri","xyz"]}"#, "days/1"),
            (#"{"localTime":"09:00","title":"a","body":"","timezone":"Mars/Base"}"#, "timezone"),
            (#"{"localTime":"09:00","title":"a","body":"","eventType":"unheard_of"}"#, "eventType"),
            (#"{"localTime":"09:00","title":"a","body":"","id":"mine"}"#, "id"),
            // The app has no event type for reminders, and sends this type as mail.
            (#"{"localTime":"09:00","title":"a","body":""}"#, "eventType"),
            (#"{"localTime":"09:00","title":"a","body":"","eventType":"security"}"#, "eventType"),
        ]
    )
    func badReminders(body: String, field: String) async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("POST", "/api/reminders", body)
            #expect(answer.status == 422)
            #expect(answer.field == field)
        }
    }

    @Test("a reminder without a type is checked against the type that its event would have")
    func usualType() async throws {
        let mailed = try ServerFixture.shipped("daily", replacing: "priority: \"normal\"", with: "priority: \"high\"")
        let body = #"{"localTime":"09:00","title":"a","body":""}"#
        try await APIFixture.with(catalogs: mailed) { api in
            let answer = try await api.call("POST", "/api/reminders", body, app: "daily")
            #expect(answer.status == 422 && answer.field == "eventType")
        }
        try await APIFixture.with { api in
            let answer = try await api.call("POST", "/api/reminders", body, app: "daily")
            #expect(answer.status == 201)
        }
    }

    @Test("a user may have at most fifty reminders")
    func mostReminders() async throws {
        try await APIFixture.with { api in
            _ = try await api.servers.owner.run(
                """
                INSERT INTO reminders (app, user_id, id, local_time, title, body, source_time)
                SELECT 'drop', 'ada', 'r' || n, '09:00', 't', 'b', now() FROM generate_series(1, 50) n
                """
            )
            let more = try await api.call(
                "POST",
                "/api/reminders",
                #"{"localTime":"09:00","title":"a","body":"","eventType":"system"}"#
            )
            #expect(more.status == 409 && more.code == "too-many-reminders")
        }
    }
}
