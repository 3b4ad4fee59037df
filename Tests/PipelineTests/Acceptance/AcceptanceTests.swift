import BellhopRules
import ServiceRuntime
import TestSupport
import Testing
import Workbench

/// The apps' own scenarios, from the producer's message to the device: drop over Expo, the others over FCM, which stands in
/// for providers to come.
@Suite(
    "Acceptance",
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.minutes(5))
)
struct AcceptanceTests {
    /// Preferences with quiet hours that hold now, and for hours to come.
    private static func quietNow(_ more: String = "") -> String {
        let hour = Int(SystemTime().now().microseconds / 3_600_000_000 % 24)
        let hours = #""quietHours":{"enabled":true,"startHour":\#(hour),"endHour":\#((hour + 6) % 24)}"#
        return #""timezone":"UTC","preferences":{\#(hours)\#(more)}"#
    }

    private static func feed(_ counterpart: Counterpart, _ words: String, user: String) async throws {
        let rig = counterpart.rig
        try await rig.publish([
            rig.event(#"{"userId":"\#(user)",\#(words)}"#, key: "\(counterpart.app).recipient.upserted")
        ])
        try await rig.wait(for: 1, "SELECT count(*) FROM recipients WHERE user_id = '\(user)'")
    }

    private static func device(_ counterpart: Counterpart, _ user: String, _ platform: String) async throws {
        let rig = counterpart.rig
        let token = counterpart.token("\(user)-\(platform)")
        let provider = counterpart.provider.rawValue
        try await rig.publish([
            rig.event(
                #"{"userId":"\#(user)","token":"\#(token)","platform":"\#(platform)","provider":"\#(provider)"}"#,
                key: "\(counterpart.app).subscription.upserted"
            )
        ])
        try await rig.wait(for: 1, "SELECT count(*) FROM push_subscriptions WHERE device_token = '\(token)'")
    }

    /// What a device got: its notification's words, and its data.
    private static func push(_ counterpart: Counterpart, to token: String) throws -> JSONValue {
        let request = try #require(counterpart.sandbox.received(.fcm).first { $0.token == token })
        #expect(request.refused == nil)
        return try #require(request.body["message"])
    }

    private static func states(_ counterpart: Counterpart) async throws -> [String?] {
        try await counterpart.rig.bench.column(
            """
            SELECT concat_ws('|', n.event_id, coalesce(s.platform, d.target), d.state, d.reason)
            FROM deliveries d
            JOIN notifications n ON n.app = d.app AND n.user_id = d.user_id AND n.id = d.notification_id
            LEFT JOIN push_subscriptions s ON s.app = d.app AND s.profile_id = d.user_id AND s.id = d.target
            ORDER BY 1
            """
        )
    }

    @Test(
        "drop: words from data, a deep link, security past quiet hours, offers only in the app, tokens kept unused, all over Expo"
    )
    func drop() async throws {
        try await Counterpart.run(app: "drop", over: .expo) { counterpart in
            let rig = counterpart.rig
            try await Self.device(counterpart, "jasmin", "android")
            try await Self.device(counterpart, "off", "android")
            try await Self.feed(counterpart, #""pushEnabled":false"#, user: "off")
            try await rig.publish([
                rig.event(
                    """
                    {"id":"tx","to":{"users":["jasmin","off"]},"targetId":"tx_rem_1",
                     "data":{"recipient":"Mama Jasmina","amount":"2 000 kr","country":"Serbia"}}
                    """,
                    key: "drop.transaction_complete"
                ),
                rig.event(
                    #"{"id":"offer","to":{"user":"jasmin"},"data":{"offer":"0% gebyr denne uken!"}}"#,
                    key: "drop.promotional"
                ),
            ])
            try await counterpart.waitUntilAnswered(3)
            let token = counterpart.token("jasmin-android")
            let request = try #require(counterpart.sandbox.received(.expo).first { $0.token == token })
            #expect(request.refused == nil)
            let message = request.body
            #expect(message["title"] == "Overføring til Mama Jasmina fullført")
            #expect(message["body"] == "2 000 kr sendt til Serbia")
            #expect(message["channelId"] == "transactions")
            #expect(message["data"]?["type"] == "transaction_complete")
            #expect(message["data"]?["targetId"] == "tx_rem_1")
            #expect(message["data"]?["link"] == "/transactions?id=tx_rem_1")
            try await Self.feed(counterpart, Self.quietNow(), user: "jasmin")
            try await rig.wait(for: 1, "SELECT count(*) FROM notification_preferences WHERE profile_id = 'jasmin'")
            try await rig.publish([
                rig.event(
                    #"{"id":"login","to":{"user":"jasmin"},"data":{"device":"iPhone","place":"Oslo, Norge"}}"#,
                    key: "drop.security"
                )
            ])
            try await counterpart.waitUntilAnswered(4)
            #expect(counterpart.sandbox.received(.fcm).isEmpty)
            #expect(rig.metrics.text().contains(#"bellhop_receipts_total{app="drop",outcome="delivered"} 2"#))
            #expect(
                try await Self.states(counterpart) == [
                    "login|android|delivered", "offer|-|suppressed|type-muted", "tx|-|suppressed|push-disabled",
                    "tx|android|delivered",
                ]
            )
        }
    }

    @Test(
        "padel: the club's payload as it stands, in quiet hours nothing for the web and the iPhone later, /schema led on"
    )
    func padel() async throws {
        try await Counterpart.run(app: "padel") { counterpart in
            let rig = counterpart.rig
            for platform in ["ios", "web"] { try await Self.device(counterpart, "anna", platform) }
            let match = { (id: String, route: String) in
                rig.event(
                    """
                    {"id":"\(id)","eventType":"scheduled_match_new","to":{"user":"anna"},"title":"Ny match i schemat",
                     "body":"Tisdag 19:00 på PDL Center.","route":"\(route)","metadata":{"matchId":"m1"},
                     "sentAtIso":"2026-02-15T13:45:00.000Z"}
                    """,
                    key: "padel.scheduled_match_new"
                )
            }
            try await rig.publish([match("day", "/schema")])
            try await counterpart.waitUntilSettled(2)
            let message = try Self.push(counterpart, to: "anna-ios")
            #expect(message["notification"]?["title"] == "Ny match i schemat")
            #expect(message["data"]?["route"] == "/schedule")
            #expect(message["data"]?["matchId"] == "m1")
            #expect(rig.metrics.text().contains(#"bellhop_rerouted_total{app="padel"} 1"#))
            try await Self.feed(counterpart, Self.quietNow(#","unknown":1"#), user: "anna")
            try await rig.wait(for: 1, "SELECT count(*) FROM notification_preferences WHERE profile_id = 'anna'")
            let keys = try await rig.bench.column(
                "SELECT string_agg(key, ',' ORDER BY key) FROM notification_preferences, jsonb_object_keys(preferences) AS key"
            )
            #expect(keys == ["enabled,eventToggles,quietHours"])
            #expect(rig.metrics.text().contains(#"bellhop_preference_fallbacks_total{app="padel"} 1"#))
            try await rig.publish([match("night", "/schedule")])
            try await rig.wait(for: 4, "SELECT count(*) FROM deliveries")
            #expect(
                try await Self.states(counterpart) == [
                    "day|ios|delivered", "day|web|delivered", "night|ios|deferred|quiet-hours",
                    "night|web|suppressed|quiet-hours",
                ]
            )
        }
    }

    @Test("daily: a reminder rings at its time on the user's clock, past quiet hours, once for each date")
    func daily() async throws {
        try await Counterpart.run(app: "daily") { counterpart in
            let rig = counterpart.rig
            try await Self.device(counterpart, "jo", "android")
            try await Self.feed(counterpart, Self.quietNow(), user: "jo")
            let minute = (SystemTime().now().microseconds / 60_000_000 + 1440 - 5) % 1440
            let time = try #require(LocalTime(hour: Int(minute / 60), minute: Int(minute % 60)))
            try await rig.publish([
                rig.event(
                    #"{"userId":"jo","id":"daily","localTime":"\#(time)","title":"Daily Message","body":"Hi"}"#,
                    key: "daily.reminder.set"
                )
            ])
            // Past today: it is planned for tomorrow.
            try await rig.wait(
                for: 1,
                "SELECT count(*) FROM reminders WHERE next_fire_at > now() + interval '23 hours'"
            )
            _ = try await rig.bench.owner.run(
                "UPDATE reminders SET planned_from = now() - interval '1 day', next_fire_at = now()",
                []
            )
            try await counterpart.waitUntilSettled(1)
            try await rig.wait(
                for: 1,
                "SELECT count(*) FROM reminders WHERE next_fire_at > now() + interval '23 hours'"
            )
            let message = try Self.push(counterpart, to: "jo-android")
            #expect(message["notification"]?["title"] == "Daily Message")
            #expect(message["data"]?["type"] == "daily_reminder")
            #expect(try await Self.states(counterpart).map { $0?.hasSuffix("|android|delivered") } == [true])
        }
    }
}
