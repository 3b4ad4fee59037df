import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

/// The club: APNs for its iPhones, Web Push for browsers.
@Suite(
    "Acceptance: padel",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct PadelAcceptanceTests {
    private static let token = String(repeating: "a11a", count: 16)

    private static func match(_ peer: ProviderPeer, _ id: String, route: String) async throws {
        try await peer.pipeline.publish([
            peer.pipeline.event(
                """
                {"id":"\(id)","eventType":"scheduled_match_new","to":{"user":"anna"},"title":"Ny match i schemat",
                 "body":"Tisdag 19:00 på PDL Center.","route":"\(route)","metadata":{"matchId":"m1"},
                 "sentAtIso":"2026-02-15T13:45:00.000Z"}
                """,
                key: "padel.scheduled_match_new"
            )
        ])
    }

    @Test(
        "the club's payload reaches the iPhone and, encrypted, the browser; the route /schema becomes /schedule"
    )
    func payload() async throws {
        try await ProviderPeer.run(app: "padel", over: .apns) { peer in
            try await peer.register("anna", "ios", token: Self.token)
            let browser = try await peer.subscribeBrowser("anna")
            try await Self.match(peer, "day", route: "/schema")
            try await peer.waitUntilSettled(2)
            let apple = try #require(peer.sandbox.received(.apns).first)
            #expect(apple.refused == nil && apple.token == Self.token)
            #expect(apple.body["aps"]?["alert"]?["title"] == "Ny match i schemat")
            #expect(apple.body["aps"]?["alert"]?["body"] == "Tisdag 19:00 på PDL Center.")
            // The club's clients have no inbox.
            #expect(apple.body["aps"]?["badge"] == nil && apple.body["badge"] == nil)
            #expect(apple.body["route"] == "/schedule")
            let web = try #require(peer.sandbox.received(.webpush).first)
            #expect(web.refused == nil && web.token == browser)
            // The peer has it only by decrypting the request.
            let shown = try #require(web.body["payload"])
            #expect(shown["title"] == "Ny match i schemat")
            #expect(shown["body"] == "Tisdag 19:00 på PDL Center.")
            #expect(shown["url"] == "/schedule")
            #expect(shown["metadata"] == ["matchId": "m1"])
            try await eventually("it is counted") {
                peer.pipeline.metrics.text().contains(
                    #"bellhop_rerouted_total{app="padel",type="scheduled_match_new",route="/schema"} 1"#
                )
            }
        }
    }

    @Test("an announcement is a record for each user and a push for each device of the club, and opens the route /")
    func announcementToEveryone() async throws {
        try await ProviderPeer.run(app: "padel", over: .apns) { peer in
            let pipeline = peer.pipeline
            try await peer.register("anna", "ios", token: Self.token)
            for user in ["anna", "bo", "cleo"] { try await peer.feed(user, #""locale":"sv""#) }
            let off = #""preferences":{"eventToggles":{"admin_announcement":false}}"#
            try await peer.feed("dan", off, until: "p.preferences IS NOT NULL")
            let browser = try await peer.subscribeBrowser("bo")
            _ = try await peer.subscribeBrowser("dan")
            let words = #""title":"Banan stängd","body":"Vi öppnar igen på måndag.","route":"/""#
            try await pipeline.publish([
                pipeline.event(#"{"id":"word","to":{"everyone":true},\#(words)}"#, key: "padel.admin_announcement")
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
            try await peer.waitUntilSettled(4)
            let records = try await pipeline.servers.column(
                "SELECT user_id || ' ' || type FROM notifications ORDER BY 1"
            )
            let expected = ["anna", "bo", "cleo", "dan"].map { "\($0) admin_announcement" }
            #expect(records == expected)
            #expect(peer.sandbox.received(.apns).map(\.token) == [Self.token])
            #expect(peer.sandbox.received(.apns).first?.body["route"] == "/")
            #expect(peer.sandbox.received(.webpush).map(\.token) == [browser])
        }
    }

    @Test("an announcement without audience and id, as the club sends it, reaches every player once")
    func announcement() async throws {
        try await ProviderPeer.run(app: "padel", over: .apns) { peer in
            let pipeline = peer.pipeline
            for player in ["anna", "bo"] { try await peer.feed(player, #""locale":"sv""#) }
            let body = """
                {"eventType":"admin_announcement","title":"Stängt","body":"Banorna vilar.","route":"/",
                 "sentAtIso":"2026-02-15T13:45:00.000Z"}
                """
            let message = pipeline.event(body, key: "padel.admin_announcement")
            try await pipeline.publish([message, message])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
            try await pipeline.publish([message])
            let later = body.replacing("13:45", with: "14:45")
            try await pipeline.publish([pipeline.event(later, key: "padel.admin_announcement")])
            try await pipeline.wait(for: 2, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
            #expect(
                try await pipeline.servers.column(
                    "SELECT concat_ws(' ', user_id, count(*)) FROM notifications GROUP BY user_id ORDER BY user_id"
                ) == ["anna 2", "bo 2"]
            )
        }
    }

    @Test("a poll reminder without an audience is a dead letter and reaches no user")
    func pollWithoutAudience() async throws {
        try await ProviderPeer.run(app: "padel", over: .apns) { peer in
            try await peer.feed("anna", #""locale":"sv""#)
            let body = #"{"title":"Svara på pollen","body":"Senast fredag.","sentAtIso":"2026-02-15T13:45:00.000Z"}"#
            try await peer.publish("availability_poll_reminder", body)
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE reason = 'missing-audience'")
            #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM notifications") == 0)
        }
    }

    @Test("in quiet hours a browser gets nothing, not even later, and an iPhone gets the push at their end")
    func quietHours() async throws {
        try await ProviderPeer.run(app: "padel", over: .apns) { peer in
            let pipeline = peer.pipeline
            try await peer.register("anna", "ios", token: Self.token)
            _ = try await peer.subscribeBrowser("anna")
            try await peer.feed(
                "anna",
                ProviderPeer.quietNow(#","unknown":1"#),
                until: "p.preferences IS NOT NULL"
            )
            let keys = try await pipeline.servers.column(
                "SELECT string_agg(key, ',' ORDER BY key) FROM notification_preferences, jsonb_object_keys(preferences) AS key"
            )
            #expect(keys == ["enabled,eventToggles,quietHours"])
            // It is counted after the whole batch is stored, and so after the row exists.
            try await eventually("the repair is counted") {
                pipeline.metrics.text().contains(#"bellhop_preference_fallbacks_total{app="padel"} 1"#)
            }
            try await Self.match(peer, "night", route: "/schedule")
            try await pipeline.wait(for: 2, "SELECT count(*) FROM deliveries")
            #expect(
                try await peer.fates() == [
                    "night|anna|ios|deferred|quiet-hours", "night|anna|web|suppressed|quiet-hours",
                ]
            )
            let wait = try await pipeline.servers.count(
                """
                SELECT count(*) FROM deliveries WHERE due_at > now() + interval '4 hours'
                AND due_at <= now() + interval '6 hours' AND extract(minute FROM due_at) = 0
                AND extract(second FROM due_at) = 0
                """
            )
            #expect(wait == 1)
            _ = try await pipeline.servers.owner.run(
                "UPDATE notification_preferences SET preferences = jsonb_set(preferences, '{quietHours,enabled}', 'false')"
            )
            _ = try await pipeline.servers.owner.run("UPDATE deliveries SET due_at = now() WHERE state = 'deferred'")
            try await peer.waitUntilSettled(2)
            #expect(
                try await peer.fates() == [
                    "night|anna|ios|delivered", "night|anna|web|suppressed|quiet-hours",
                ]
            )
            #expect(peer.sandbox.received(.apns).map(\.token) == [Self.token])
            #expect(peer.sandbox.received(.webpush).isEmpty)
        }
    }
}
