import BellhopJSON
import BellhopRules
import IntegrationSupport
import Postgres
import Push
import ServiceRuntime
import Store
import TestSupport
import Testing

@Suite(
    "Settings routes",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct SettingsRouteTests {
    @Test("settings start with the defaults, keep members that a change omits, and reset members that are null")
    func settings() async throws {
        try await APIFixture.with { api in
            let usual: JSONValue = [
                "pushEnabled": true, "emailEnabled": true, "locale": .null, "timezone": .null, "email": .null,
            ]
            #expect(try await api.call("GET", "/api/settings").json == usual)
            let body = #"{"pushEnabled":false,"locale":"SV_se","timezone":"Europe/Stockholm","email":"a@example.com"}"#
            let changed = try await api.call("PATCH", "/api/settings", body)
            #expect(changed["pushEnabled"] == false && changed["emailEnabled"] == true)
            #expect(changed["locale"] == "sv-SE" && changed["email"] == "a@example.com")
            let again = try await api.call("PATCH", "/api/settings", #"{"locale":null,"emailEnabled":false}"#)
            #expect(again["locale"] == .some(.null) && again["timezone"] == "Europe/Stockholm")
            #expect(try await api.call("GET", "/api/settings").json == again.json)
            // Workers read this copy.
            let copy = "SELECT concat_ws('|', push_enabled, email_enabled, timezone) FROM people WHERE user_id = 'ada'"
            #expect(try await api.servers.column(copy) == ["f|f|Europe/Stockholm"])
        }
    }

    @Test("a device's report fills what is missing and follows the device, and a value that was set outranks it")
    func reported() async throws {
        try await APIFixture.with { api in
            let report = { (zone: String) in
                let body = #"{"timezone":"\#(zone)","locale":"en-GB","isDefault":true}"#
                return try await api.call("PATCH", "/api/settings", body)
            }
            let first = try await report("Asia/Manila")
            #expect(first["timezone"] == "Asia/Manila" && first["locale"] == "en-GB")
            let travelled = try await report("Asia/Tokyo")
            #expect(travelled["timezone"] == "Asia/Tokyo")
            // A report makes no other update older, however late it arrives.
            let ages = try await api.servers.column("SELECT (source_time < '2000-01-01')::text FROM recipients")
            #expect(ages == ["true"])
            _ = try await api.call("PATCH", "/api/settings", #"{"timezone":"Europe/Oslo"}"#)
            let again = try await report("Asia/Manila")
            #expect(again["timezone"] == "Europe/Oslo")
            let copy = "SELECT concat_ws('|', locale, timezone) FROM people WHERE user_id = 'ada'"
            #expect(try await api.servers.column(copy) == ["en-GB|Europe/Oslo"])
            _ = try await api.call("PATCH", "/api/settings", #"{"timezone":null,"locale":"sv"}"#)
            let cleared = try await report("Asia/Manila")
            #expect(cleared["timezone"] == "Asia/Manila" && cleared["locale"] == "sv")
        }
    }

    @Test(
        "an invalid setting is rejected",
        arguments: [
            (#"{"pushEnabled":"no"}"#, "pushEnabled"), (#"{"locale":"x"}"#, "locale"),
            (#"{"timezone":"Mars/Olympus"}"#, "timezone"), (#"{"timezone":"../../etc/passwd"}"#, "timezone"),
            (#"{"isDefault":1}"#, "isDefault"), (#"{"isDefault":true,"pushEnabled":true}"#, "pushEnabled"),
            (#"{"isDefault":true,"timezone":null}"#, "timezone"),
            (#"{"email":"a b@c"}"#, "email"), (#"{"userId":"bob"}"#, "userId"), (#"{"sentAtIso":"x"}"#, "sentAtIso"),
        ]
    )
    func refused(body: String, field: String) async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("PATCH", "/api/settings", body)
            #expect(answer.status == 422)
            #expect(answer.field == field)
        }
    }

    @Test("a user's update counts as newer than one from a clock that is ahead")
    func newest() async throws {
        try await APIFixture.with { api in
            _ = try await api.servers.owner.run(
                """
                INSERT INTO recipients (app, user_id, locale, source_time)
                VALUES ('drop', 'ada', 'nb', now() + interval '1 h')
                """
            )
            #expect(try await api.call("PATCH", "/api/settings", #"{"locale":"en"}"#)["locale"] == "en")
            let document = #"{"enabled":false}"#
            _ = try await api.call("PUT", "/api/preferences", document)
            #expect(try await api.call("GET", "/api/preferences")["enabled"] == false)
        }
    }

    @Test("a document of any age is returned and stored in canonical form, and each repair is counted")
    func preferences() async throws {
        try await APIFixture.with { api in
            let usual = try await api.call("GET", "/api/preferences", app: "padel")
            #expect(usual["enabled"] == true)
            #expect(usual["quietHours"] == ["enabled": false, "startHour": 22, "endHour": 7])
            let body = """
                {"enabled":1,"eventToggles":{"scheduled_match_new":false,"gone":true},"old":7,
                 "quietHours":{"enabled":true,"startHour":99,"endHour":-3.5}}
                """
            let kept = try await api.call("PUT", "/api/preferences", body, app: "padel")
            #expect(kept.status == 200)
            #expect(kept["enabled"] == true)
            #expect(kept["eventToggles"]?["scheduled_match_new"] == false)
            #expect(kept["eventToggles"]?["gone"] == nil)
            #expect(kept["quietHours"] == ["enabled": true, "startHour": 23, "endHour": 0])
            #expect(try await api.call("GET", "/api/preferences", app: "padel").json == kept.json)
            #expect(api.metrics.text().contains(#"bellhop_preference_fallbacks_total{app="padel"} 1"#))
        }
    }

    @Test("a patch changes the named preferences only, and concurrent patches of different members are all stored")
    func patched() async throws {
        try await APIFixture.with { api in
            let hours = #"{"quietHours":{"enabled":true,"endHour":99}}"#
            let first = try await api.call("PATCH", "/api/preferences", hours)
            #expect(first.status == 200)
            #expect(first["quietHours"] == ["enabled": true, "startHour": 22, "endHour": 23])
            let types = ["transaction_complete", "qr_payment", "rate_update", "system", "promotional"]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for type in types {
                    let isOn = type == "promotional"
                    group.addTask {
                        let body = #"{"eventToggles":{"\#(type)":\#(isOn)}}"#
                        let answer = try await api.call("PATCH", "/api/preferences", body)
                        #expect(answer.status == 200)
                    }
                }
                try await group.waitForAll()
            }
            let all = try await api.call("GET", "/api/preferences")
            let toggles = types.map { all["eventToggles"]?[$0] }
            #expect(toggles == [false, false, false, false, true])
            #expect(all["enabled"] == true && all["quietHours"] == first["quietHours"])
        }
    }

    @Test(
        "a patch with an unknown or invalid member is rejected, and nothing is stored",
        arguments: [
            (#"{"pausedUntil":"soon"}"#, "pausedUntil"), (#"{"pausedUntil":7}"#, "pausedUntil"),
            (#"{"pausedUntil":"9999-01-01T00:00:00Z"}"#, "pausedUntil"),
            (#"{"emailToggles":true}"#, "emailToggles"), (#"{"emailToggles":{"nosuch":true}}"#, "emailToggles/nosuch"),
            (#"{"emailToggles":{"system":"no"}}"#, "emailToggles/system"),
            (#"{"emailToggles":{"security":false}}"#, "emailToggles/security"),
            (#"{"other":true}"#, "other"), (#"{"enabled":1}"#, "enabled"), (#"{"eventToggles":[]}"#, "eventToggles"),
            (#"{"eventToggles":{"nosuch":true}}"#, "eventToggles/nosuch"),
            (#"{"eventToggles":{"system":null}}"#, "eventToggles/system"),
            (#"{"enabled":false,"quietHours":{"startHour":"22"}}"#, "quietHours/startHour"),
        ]
    )
    func badPatch(body: String, field: String) async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("PATCH", "/api/preferences", body)
            #expect(answer.status == 422)
            #expect(answer.field == field)
            #expect(try await api.servers.count("SELECT count(*) FROM notification_preferences") == 0)
        }
    }

    /// Returns an instant that many seconds from now, in the canonical form.
    private static func instant(in seconds: Int64) -> String {
        let now = SystemTime().timestamp.microseconds / 1_000_000
        return Timestamp(clamping: (now + seconds) * 1_000_000).description
    }

    @Test("a pause is stored in UTC, a patch or a document without it keeps it, and null or the past ends it")
    func pause() async throws {
        try await APIFixture.with { api in
            let unpaused = try await api.call("GET", "/api/preferences")
            #expect(unpaused["pausedUntil"] == nil && unpaused["emailToggles"] == nil)
            let end = Self.instant(in: 3_600)
            let local = end.replacing("Z", with: "+00:00")
            let paused = try await api.call("PATCH", "/api/preferences", #"{"pausedUntil":"\#(local)"}"#)
            #expect(paused.status == 200 && paused["pausedUntil"] == .string(end))
            #expect(paused["eventToggles"] == unpaused["eventToggles"])
            let put = try await api.call("PUT", "/api/preferences", #"{"enabled":false}"#)
            #expect(put["pausedUntil"] == .string(end) && put["enabled"] == false)
            let patched = try await api.call("PATCH", "/api/preferences", #"{"enabled":true}"#)
            #expect(patched["pausedUntil"] == .string(end))
            for ended in ["null", "\"2020-01-01T00:00:00Z\""] {
                _ = try await api.call("PATCH", "/api/preferences", #"{"pausedUntil":"\#(end)"}"#)
                let answer = try await api.call("PATCH", "/api/preferences", #"{"pausedUntil":\#(ended)}"#)
                #expect(answer.status == 200 && answer["pausedUntil"] == nil)
                let rows = "SELECT count(*) FROM notification_preferences WHERE preferences ? 'pausedUntil'"
                #expect(try await api.servers.count(rows) == 0)
            }
            _ = try await api.call("PATCH", "/api/preferences", #"{"pausedUntil":"\#(end)"}"#)
            let removed = try await api.call("PUT", "/api/preferences", #"{"pausedUntil":null}"#)
            #expect(removed.status == 200 && removed["pausedUntil"] == nil)
            let late = #"{"pausedUntil":"\#(Self.instant(in: 31 * 86_400))"}"#
            for method in ["PUT", "PATCH"] {
                let refused = try await api.call(method, "/api/preferences", late)
                #expect(refused.status == 422 && refused.field == "pausedUntil", "\(method)")
            }
        }
    }

    @Test("a pause that has passed is no longer in the answer, and is not counted as a repair")
    func pausedBefore() async throws {
        try await APIFixture.with { api in
            _ = try await api.call("PATCH", "/api/preferences", #"{"pausedUntil":"\#(Self.instant(in: 3_600))"}"#)
            _ = try await api.servers.owner.run(
                """
                UPDATE notification_preferences
                SET preferences = preferences || '{"pausedUntil": "2020-01-01T00:00:00.000Z"}'
                """
            )
            #expect(try await api.call("GET", "/api/preferences")["pausedUntil"] == nil)
            #expect(!api.metrics.text().contains(#"bellhop_preference_fallbacks_total{app="drop"} 1"#))
        }
    }

    @Test("the end of a pause by the API makes the user's paused deliveries due in the same transaction")
    func pauseReleases() async throws {
        try await APIFixture.with { api in
            _ = try await api.call("PATCH", "/api/preferences", #"{"pausedUntil":"\#(Self.instant(in: 3_600))"}"#)
            _ = try await api.servers.owner.run(
                """
                INSERT INTO ledger (person, id, target, state, reason, due_at)
                SELECT number, 1, 7, 'w', 'paused', now() + interval '1 h' FROM people WHERE user_id = 'ada'
                """
            )
            let due = "SELECT count(*) FROM ledger WHERE due_at <= now()"
            _ = try await api.call("PATCH", "/api/preferences", #"{"enabled":false}"#)
            #expect(try await api.servers.count(due) == 0)
            _ = try await api.call("PATCH", "/api/preferences", #"{"pausedUntil":null}"#)
            #expect(try await api.servers.count(due) == 1)
        }
    }

    @Test("choices for e-mail are changed one by one, removed by null, and kept by a document without them")
    func emailChoices() async throws {
        try await APIFixture.with { api in
            func patch(_ choices: String) async throws -> JSONValue? {
                let answer = try await api.call("PATCH", "/api/preferences", #"{"emailToggles":\#(choices)}"#)
                #expect(answer.status == 200)
                return answer["emailToggles"]
            }
            #expect(try await patch(#"{"system":false}"#) == ["system": false])
            #expect(try await patch(#"{"qr_payment":true}"#) == ["qr_payment": true, "system": false])
            #expect(try await patch(#"{"system":null}"#) == ["qr_payment": true])
            let kept = try await api.call("PUT", "/api/preferences", #"{"enabled":false}"#)
            #expect(kept["emailToggles"] == ["qr_payment": true])
            let replaced = try await api.call("PUT", "/api/preferences", #"{"emailToggles":{"system":true}}"#)
            #expect(replaced["emailToggles"] == ["system": true])
            #expect(try await patch("null") == nil)
            #expect(try await patch(#"{"system":true}"#) == ["system": true])
            #expect(try await patch(#"{"system":null}"#) == nil)
            let copy = "SELECT count(*) FROM people WHERE preferences LIKE '%emailToggles%'"
            #expect(try await api.servers.count(copy) == 0)
        }
    }

    @Test("a first patch does not end the mails of a type that is mailed and not pushed by default")
    func mailedOnly() async throws {
        let catalogs = try ServerFixture.shipped(
            "drop",
            replacing: "push: true, email: false",
            with: "push: false, email: true"
        )
        try await APIFixture.with(catalogs: catalogs) { api in
            let patched = try await api.call("PATCH", "/api/preferences", #"{"quietHours":{"enabled":true}}"#)
            #expect(patched["eventToggles"]?["qr_payment"] == false)
            #expect(patched["emailToggles"] == ["transaction_complete": true, "qr_payment": true])
        }
    }

    @Test("preferences with If-None-Match are written only if the user has none")
    func onlyNew() async throws {
        try await APIFixture.with { api in
            let (first, second) = (#"{"enabled":false}"#, #"{"enabled":true}"#)
            let made = try await api.call("PUT", "/api/preferences", first, headers: ["If-None-Match": "*"])
            #expect(made.status == 200)
            let late = try await api.call("PUT", "/api/preferences", second, headers: ["If-None-Match": "*"])
            #expect(late.status == 412)
            #expect(try await api.call("GET", "/api/preferences")["enabled"] == false)
            let other = try await api.call("PUT", "/api/preferences", second, headers: ["If-None-Match": "\"x\""])
            #expect(other.status == 422)
            #expect(try await api.call("PUT", "/api/preferences", "[]").status == 422)
        }
    }

    @Test("the catalogue is returned in the user's language, in its order and with its defaults")
    func catalog() async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("GET", "/api/catalog", app: "padel")
            let shipped = api.servers.catalogs.catalogs.first { $0.app.text == "padel" }
            let padel = try #require(shipped)
            let types = answer["types"]?.array?.compactMap { $0["type"]?.string }
            #expect(types == padel.types.map(\.type.text))
            let label = answer["types"]?.array?.first?["label"]?.string
            #expect(label == padel.types.first?.labels[padel.language])
            #expect(answer["preferences"]?["quietHours"]?["startHour"] == 22)
            #expect(answer["preferences"]?["master"]?["label"]?.string?.isEmpty == false)
        }
    }

    @Test("the catalogue lists the ways that the app has, by its configured providers and its catalogue")
    func ways() async throws {
        let (drop, venues) = (try #require(AppID(validating: "drop")), try #require(AppID(validating: "venues")))
        func ways(_ api: APIFixture, _ app: String) async throws -> [String]? {
            try await api.call("GET", "/api/catalog", app: app)["ways"]?.array?.compactMap(\.string)
        }
        try await APIFixture.with(providers: [drop: Set(PushProvider.allCases), venues: [.fcm]]) { api in
            // The fixture has a browser key and an unsubscribe link for drop alone.
            let expected = ["drop": ["app", "push", "email", "webpush"], "venues": ["app", "push"], "padel": ["app"]]
            for (app, expected) in expected {
                let found = try await ways(api, app)
                #expect(found == expected)
            }
        }
        try await APIFixture.with { api in
            let found = try await ways(api, "drop")
            #expect(found == ["app", "email"])
        }
    }

    @Test("the browser key is the app's own, and an app without one gets 404")
    func webPushKey() async throws {
        try await APIFixture.with { api in
            #expect(try await api.call("GET", "/api/web-push-key")["publicKey"] == "BPublic")
            let none = try await api.call("GET", "/api/web-push-key", app: "padel")
            #expect(none.status == 404 && none.code == "no-web-push")
        }
    }

    @Test("an unsubscribe link asks first, ends the mails when it is posted, and rejects a forged token")
    func unsubscribe() async throws {
        try await APIFixture.with { api in
            _ = try await api.call("PATCH", "/api/settings", #"{"locale":"nb"}"#)
            let app = try #require(AppID(validating: "drop"))
            let link = try APIFixture.unsubscribeLink()
            let token = link.token(for: .init(app: app, user: try #require(UserID(validating: "ada"))))
            let page = try await api.call("GET", "/u/\(token)", as: nil)
            #expect(page.status == 200 && page.text.contains("Vil du slutte"))
            #expect(page.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
            #expect(try await api.call("GET", "/api/settings")["emailEnabled"] == true)
            for _ in 0..<2 {
                let done = try await api.call(
                    "POST",
                    "/u/\(token)",
                    "List-Unsubscribe=One-Click",
                    as: nil,
                    headers: ["Content-Type": "application/x-www-form-urlencoded"]
                )
                #expect(done.status == 200)
            }
            #expect(try await api.call("GET", "/api/settings")["emailEnabled"] == false)
            let forged = try await api.call("POST", "/u/\(token)x", as: nil)
            #expect(forged.status == 404)
            #expect(try await api.call("GET", "/u/forged", as: nil).status == 404)
        }
    }

    @Test("an address that opted out by a link gets no mail for any user until the app's servers allow it again")
    func optedOutAddress() async throws {
        try await APIFixture.with { api in
            let app = try #require(AppID(validating: "drop"))
            let address = try #require(EmailAddress(validating: "Bystander@elsewhere.example"))
            let named = #"{"email":"bystander@ELSEWHERE.example"}"#
            for user in ["ada", "bob"] { _ = try await api.call("PATCH", "/api/settings", named, as: user) }
            let subject = UnsubscribeLink.Target(
                app: app,
                user: try #require(UserID(validating: "ada")),
                mailedTo: address
            )
            let token = try APIFixture.unsubscribeLink().token(for: subject)
            // The user has another address by the time the link is followed.
            _ = try await api.call("PATCH", "/api/settings", #"{"email":"ada@example.com"}"#)
            #expect(try await api.call("POST", "/u/\(token)", as: nil).status == 200)
            let mailed = "SELECT user_id FROM people WHERE email_enabled ORDER BY user_id"
            #expect(try await api.servers.column(mailed) == [])
            let back = try await api.call("PATCH", "/api/settings", #"{"emailEnabled":true}"#)
            #expect(back["emailEnabled"] == true)
            let again = try await api.call(
                "PATCH",
                "/api/settings",
                named.replacing("}", with: #","emailEnabled":true}"#)
            )
            #expect(again["emailEnabled"] == false)
            #expect(try await api.call("PATCH", "/api/settings", named, as: "eve")["emailEnabled"] == false)
            #expect(try await api.servers.column(mailed) == [])

            try await Self.feed(api, "bob", #""emailEnabled":true"#)
            #expect(try await api.servers.column(mailed) == ["bob"])
            #expect(try await api.servers.count("SELECT count(*) FROM mail_opt_outs") == 0)
        }
    }

    /// Applies a feed message about a user from the app's servers, dated one second in the future.
    private static func feed(_ api: APIFixture, _ user: String, _ words: String) async throws {
        let body = #"{"app":"drop","eventType":"recipient.upserted","userId":"\#(user)",\#(words)}"#
        guard case .feed(let update) = try api.servers.submission(body) else {
            throw ServerFixtureError("not a feed message")
        }
        let arrival = Timestamp(clamping: DeadLetterSamples.now.microseconds + 1_000_000)
        _ = try await WorkerStore(pool: api.servers.pool).apply([FeedEntry(update: update, arrival: arrival)])
    }

    @Test("a catalogue may reserve the address for the app's servers, and a user may still remove it")
    func addressOfServers() async throws {
        let key = "app: \"drop\","
        let strict = try ServerFixture.shipped("drop", replacing: key, with: key + " clientsMaySetEmail: false,")
        try await APIFixture.with(catalogs: strict) { api in
            let named = try await api.call("PATCH", "/api/settings", #"{"email":"a@b.example"}"#)
            #expect(named.status == 422 && named.field == "email")
            #expect(try await api.call("PATCH", "/api/settings", #"{"email":null,"locale":"sv"}"#).status == 200)
        }
    }

    @Test("an unsubscribe link of an erased user succeeds and makes no row")
    func unsubscribeErased() async throws {
        try await APIFixture.with { api in
            let app = try #require(AppID(validating: "drop"))
            let user = try #require(UserID(validating: "gone"))
            let token = try APIFixture.unsubscribeLink().token(for: .init(app: app, user: user))
            let done = try await api.call("POST", "/u/\(token)", as: nil)
            #expect(done.status == 200)
            #expect(try await api.servers.count("SELECT count(*) FROM recipients") == 0)
        }
    }
}
