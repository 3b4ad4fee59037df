import BellhopRules
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

/// The daily reminder, here over FCM: its catalogue accepts the provider with which its devices are registered.
@Suite(
    "Acceptance: daily",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct DailyAcceptanceTests {
    @Test("a reminder fires at its time on the user's clock, despite quiet hours, once for each date")
    func daily() async throws {
        try await ProviderPeer.run(app: "daily") { peer in
            let pipeline = peer.pipeline
            try await peer.register("jo", "android", token: "jo-android")
            try await peer.feed("jo", ProviderPeer.quietNow(), until: "p.preferences IS NOT NULL")
            let minute = (SystemTime().now().microseconds / 60_000_000 + 1440 - 5) % 1440
            let time = try #require(LocalTime(hour: Int(minute / 60), minute: Int(minute % 60)))
            try await pipeline.publish([
                pipeline.event(
                    #"{"userId":"jo","id":"daily","localTime":"\#(time)","title":"Daily Message","body":"Hi"}"#,
                    key: "daily.reminder.set"
                )
            ])
            // The time has passed today: the reminder is planned for tomorrow.
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM reminders WHERE next_fire_at > now() + interval '23 hours'"
            )
            _ = try await pipeline.servers.owner.run(
                "UPDATE reminders SET planned_from = now() - interval '1 day', next_fire_at = now()",
                []
            )
            try await peer.waitUntilSettled(1)
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM reminders WHERE next_fire_at > now() + interval '23 hours'"
            )
            let request = try #require(peer.sandbox.received(.fcm).first { $0.token == "jo-android" })
            #expect(request.refused == nil)
            #expect(request.body["message"]?["notification"]?["title"] == "Daily Message")
            #expect(request.body["message"]?["data"]?["type"] == "daily_reminder")
            #expect(try await peer.fates().map { $0?.hasSuffix("|jo|android|delivered") } == [true])
        }
    }
}
