import IntegrationSupport
import TestSupport
import Testing

@Suite(
    "Reminders of the API",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ReminderRouteTests {
    private static func body(_ title: String = "Kamp", _ more: String = "") -> String {
        #"{"localTime":"17:30","title":"\#(title)","body":"","eventType":"system"\#(more)}"#
    }

    @Test("a PUT creates a reminder, repeats without effect, and replaces it")
    func put() async throws {
        try await APIFixture.with { api in
            let stamp = "SELECT concat_ws('|', id, title, days, source_time) FROM reminders"
            let made = try await api.call("PUT", "/api/reminders/match-42", Self.body())
            #expect(made.status == 201 && made["id"] == "match-42" && made["days"]?.array?.count == 7)
            let before = try await api.servers.column(stamp)
            let again = try await api.call("PUT", "/api/reminders/match-42", Self.body())
            #expect(again.status == 200 && again.json == made.json)
            #expect(try await api.servers.column(stamp) == before)
            let other = try await api.call("PUT", "/api/reminders/match-42", Self.body("Ny", #","days":["mon"]"#))
            #expect(other.status == 200 && other["title"] == "Ny" && other["days"] == ["mon"])
            #expect(try await api.call("GET", "/api/reminders")["data"]?.array?.count == 1)
            #expect(try await api.call("DELETE", "/api/reminders/match-42").status == 204)
            #expect(try await api.call("PUT", "/api/reminders/match-42", Self.body()).status == 201)
        }
    }

    @Test("of two PUT calls at the same time, one creates the reminder")
    func concurrent() async throws {
        try await APIFixture.with { api in
            async let first = api.call("PUT", "/api/reminders/r", Self.body("a"))
            async let second = api.call("PUT", "/api/reminders/r", Self.body("b"))
            let statuses = try await [first.status, second.status].sorted()
            #expect(statuses == [200, 201])
        }
    }

    @Test("the id of a PUT is bounded, and so is the number of reminders")
    func limits() async throws {
        try await APIFixture.with { api in
            let long = String(repeating: "r", count: 256)
            let refused = try await api.call("PUT", "/api/reminders/\(long)", Self.body())
            #expect(refused.status == 422 && refused.field == "id")
            _ = try await api.servers.owner.run(
                """
                INSERT INTO reminders (app, user_id, id, local_time, title, body, source_time)
                SELECT 'drop', 'ada', 'r' || n, '09:00', 't', 'b', now() FROM generate_series(1, 50) n
                """
            )
            let more = try await api.call("PUT", "/api/reminders/new", Self.body())
            #expect(more.status == 409 && more.code == "too-many-reminders")
            #expect(try await api.call("PUT", "/api/reminders/r7", Self.body()).status == 200)
        }
    }

    @Test("a reminder for one date has it in place of days, and PATCH changes from one to the other")
    func date() async throws {
        try await APIFixture.with { api in
            let made = try await api.call("POST", "/api/reminders", Self.body("Kamp", #","on":"2099-12-01""#))
            #expect(made.status == 201 && made["on"] == "2099-12-01" && made["days"] == .some(.null))
            #expect(made["nextFireAt"] == "2099-12-01T16:30:00.000Z")
            let path = "/api/reminders/\(try #require(made["id"]?.string))"
            let weekly = try await api.call("PATCH", path, #"{"days":["fri"]}"#)
            #expect(weekly["on"] == .some(.null) && weekly["days"] == ["fri"])
            let single = try await api.call("PATCH", path, #"{"on":"2099-12-02"}"#)
            #expect(single["on"] == "2099-12-02" && single["days"] == .some(.null))
            let renamed = try await api.call("PATCH", path, #"{"title":"Ny"}"#)
            #expect(renamed["on"] == "2099-12-02" && renamed["title"] == "Ny")
        }
    }

    @Test(
        "a date that is over or invalid is refused, and so is a date with days",
        arguments: [#""on":"2026-01-01""#, #""on":"2099-02-30""#, #""on":7"#, #""on":"2099-12-01","days":["mon"]"#]
    )
    func badDates(members: String) async throws {
        try await APIFixture.with { api in
            for (method, path) in [("POST", "/api/reminders"), ("PUT", "/api/reminders/r")] {
                let answer = try await api.call(method, path, Self.body("Kamp", ",\(members)"))
                #expect(answer.status == 422 && answer.field == "on")
            }
            #expect(try await api.servers.count("SELECT count(*) FROM reminders") == 0)
        }
    }

    @Test("every answer names the zone of the clock and its origin")
    func zones() async throws {
        try await APIFixture.with { api in
            func zone(_ answer: APIFixture.Answer) -> [String?] {
                [answer["timezone"]?.string, answer["timezoneFrom"]?.string]
            }
            let path = "/api/reminders/r"
            let first = try await api.call("PUT", path, Self.body())
            #expect(zone(first) == ["Europe/Oslo", "catalog"])
            _ = try await api.call("PATCH", "/api/settings", #"{"timezone":"Asia/Manila"}"#)
            let second = try await api.call("PUT", path, Self.body("Ny"))
            #expect(zone(second) == ["Asia/Manila", "settings"])
            let own = try await api.call("PATCH", path, #"{"timezone":"Asia/Tokyo"}"#)
            #expect(zone(own) == ["Asia/Tokyo", "reminder"])
            let listed = try await api.call("GET", "/api/reminders")["data"]?.array?.first
            #expect(listed?["timezone"] == "Asia/Tokyo")
            // A change of another member keeps the zone of the settings.
            _ = try await api.call("PATCH", path, #"{"timezone":null}"#)
            _ = try await api.call("PATCH", path, #"{"title":"Enda en"}"#)
            #expect(try await api.servers.column("SELECT coalesce(timezone, '-') FROM reminders") == ["-"])
        }
    }
}
