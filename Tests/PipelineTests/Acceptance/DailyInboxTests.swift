import BellhopRules
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

/// The calls of the reminder's clients to the inbox API, and the results.
extension DailyAcceptanceTests {
    @Test("a reminder for a time that has passed today shows tomorrow, fires, shows the day after, and is deleted")
    func byTheInbox() async throws {
        try await ProviderPeer.run(app: "daily") { peer in
            let pipeline = peer.pipeline
            try await peer.withInbox { inbox in
                try await inbox.register("jo", "android", token: "jo-android", more: #","provider":"fcm""#)
                let now = SystemTime().now().microseconds
                let time = try Self.fiveMinutesAgo()
                let words = #""title":"Daily Message","body":"Hi","timezone":"UTC","eventType":"daily_reminder""#
                let set = try await inbox.call(
                    "POST",
                    "/api/reminders",
                    #"{"localTime":"\#(time)",\#(words)}"#,
                    as: "jo",
                    expecting: 201
                )
                let first = try #require(Self.instant(set["nextFireAt"]))
                #expect((23 * 3_600...24 * 3_600).contains((first - now) / 1_000_000))
                try await pipeline.wait(for: 1, Self.planned)
                _ = try await pipeline.servers.owner.run(
                    "UPDATE reminders SET planned_from = now() - interval '1 day', next_fire_at = now()"
                )
                try await peer.waitUntilSettled(1)
                let request = try #require(peer.sandbox.received(.fcm).first { $0.token == "jo-android" })
                #expect(request.body["message"]?["data"]?["eventType"] == "daily_reminder")
                #expect(request.body["message"]?["data"]?["sentAtIso"] != nil)
                #expect(try await inbox.titles("jo") == ["Daily Message"])
                let list = try await inbox.call("GET", "/api/reminders", as: "jo")
                let next = try #require(Self.instant(list["data"]?.array?.first?["nextFireAt"]))
                #expect(next > now)
                let id = try #require(set["id"]?.string)
                try await inbox.call("DELETE", "/api/reminders/\(id)", as: "jo", expecting: 204)
                #expect(
                    try await pipeline.servers.count("SELECT count(*) FROM reminders WHERE removed_at IS NULL") == 0
                )
            }
        }
    }

    /// The time has passed today: the reminder is planned for tomorrow.
    private static let planned = "SELECT count(*) FROM reminders WHERE next_fire_at > now() + interval '23 hours'"

    /// Returns the time five minutes ago, on a clock of UTC.
    private static func fiveMinutesAgo() throws -> LocalTime {
        let minute = (SystemTime().now().microseconds / 60_000_000 + 1440 - 5) % 1440
        return try #require(LocalTime(hour: Int(minute / 60), minute: Int(minute % 60)))
    }

    private static func instant(_ value: JSONValue?) -> Int64? {
        value?.string.flatMap(Timestamp.init(validating:))?.microseconds
    }

    @Test("a user who has denied the permission finds the reminder in the app and gets no push")
    func denied() async throws {
        try await ProviderPeer.run(app: "daily") { peer in
            try await peer.withInbox { inbox in
                try await inbox.register("jo", "ios", token: "jo-ios", more: #","provider":"fcm""#)
                let change = #"{"token":"jo-ios","permission":"denied"}"#
                try await inbox.call("PATCH", "/api/push-token", change, as: "jo")
                let time = try Self.fiveMinutesAgo()
                let words = #""localTime":"\#(time)","title":"Daily Message","body":"Hi""#
                try await inbox.call("POST", "/api/reminders", "{\(words)}", as: "jo", expecting: 201)
                try await peer.pipeline.wait(for: 1, Self.planned)
                _ = try await peer.pipeline.servers.owner.run(
                    "UPDATE reminders SET planned_from = now() - interval '1 day', next_fire_at = now()"
                )
                try await peer.waitUntilSettled(1)
                #expect(peer.sandbox.received(.fcm).isEmpty)
                #expect(try await inbox.titles("jo") == ["Daily Message"])
            }
        }
    }
}
