import IntegrationSupport
import TestSupport
import Testing

@Suite(
    "Reports of devices' clocks",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DeviceClockTests {
    private func report(_ zone: String, _ locale: String = "en-GB", to api: APIFixture) async throws
        -> APIFixture.Answer
    {
        let body = #"{"timezone":"\#(zone)","locale":"\#(locale)","isDefault":true}"#
        return try await api.call("PATCH", "/api/settings", body)
    }

    /// The version of the user's row, which every write changes.
    private static let version = "SELECT xmin::text FROM recipients WHERE user_id = 'ada'"
    private static let planned = "SELECT (next_fire_at IS NOT NULL AND held_until IS NOT NULL)::text FROM reminders"

    private func plan(_ api: APIFixture) async throws {
        _ = try await api.servers.owner.run("UPDATE reminders SET next_fire_at = now(), held_until = now()", [])
    }

    @Test("a report that changes nothing writes nothing, and leaves the plans of reminders as they are")
    func repeated() async throws {
        try await APIFixture.with { api in
            _ = try await report("Asia/Manila", to: api)
            _ = try await api.servers.owner.run(
                """
                INSERT INTO reminders (app, user_id, id, local_time, title, body, source_time)
                VALUES ('drop', 'ada', 'r', '09:00', 't', 'b', now())
                """,
                []
            )
            try await plan(api)
            let before = try await api.servers.column(Self.version)
            _ = try await report("Asia/Manila", to: api)
            #expect(try await api.servers.column(Self.version) == before)
            #expect(try await api.servers.column(Self.planned) == ["true"])
            // Another language keeps the plans, and another zone makes new ones.
            _ = try await report("Asia/Manila", "sv", to: api)
            #expect(try await api.servers.column(Self.version) != before)
            #expect(try await api.servers.column(Self.planned) == ["true"])
            _ = try await report("Asia/Tokyo", "sv", to: api)
            #expect(try await api.servers.column(Self.planned) == ["false"])
            // A value that the user has set outranks a report, which therefore changes no plan.
            _ = try await api.call("PATCH", "/api/settings", #"{"timezone":"Europe/Oslo"}"#)
            try await plan(api)
            let set = try await api.servers.column(Self.version)
            _ = try await report("Asia/Manila", "sv", to: api)
            #expect(try await api.servers.column(Self.version) == set)
            #expect(try await api.servers.column(Self.planned) == ["true"])
            // The same zone again, set by the user, is written and changes no plan.
            _ = try await api.call("PATCH", "/api/settings", #"{"timezone":"Europe/Oslo"}"#)
            #expect(try await api.servers.column(Self.planned) == ["true"])
        }
    }

    @Test("a value that a program without marks for reports has set outranks later reports")
    func older() async throws {
        try await APIFixture.with { api in
            _ = try await report("Asia/Manila", to: api)
            _ = try await api.servers.owner.run(
                "UPDATE recipients SET locale = 'da', timezone = timezone, source_time = now()",
                []
            )
            let later = try await report("Asia/Tokyo", "sv", to: api)
            #expect(later["locale"] == "da" && later["timezone"] == "Asia/Tokyo")
        }
    }
}
