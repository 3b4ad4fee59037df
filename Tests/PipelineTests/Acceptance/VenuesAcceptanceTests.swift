import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

/// A venue's offers to its followers, over FCM.
@Suite(
    "Acceptance: venues",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct VenuesAcceptanceTests {
    private static let finished = "SELECT count(*) FROM fanouts WHERE state = 'finished'"

    private static func follow(_ peer: ProviderPeer, _ users: [String], _ more: String = "") async throws {
        let pipeline = peer.pipeline
        try await pipeline.publish(
            users.map { pipeline.event(#"{"userId":"\#($0)","topic":"venue:42"\#(more)}"#, key: "venues.follow.added") }
        )
        let names = users.map { "'\($0)'" }.joined(separator: ",")
        try await pipeline.wait(for: users.count, "SELECT count(*) FROM follows WHERE user_id IN (\(names))")
    }

    private static func campaign(_ peer: ProviderPeer, _ id: String) async throws {
        let offer = #""venueId":"42","data":{"venue":"Tim Wendelboe","offer":"Two cups for one"}"#
        let body = #"{"id":"\#(id)",\#(offer)}"#
        try await peer.pipeline.publish([peer.pipeline.event(body, key: "venues.opportunity")])
    }

    @Test("a venue's event is a record for each follower and a push for each valid token, and reaches no other user")
    func campaign() async throws {
        try await ProviderPeer.run(app: "venues") { peer in
            let pipeline = peer.pipeline
            try await peer.register("ada", "android", token: "ada-phone")
            try await peer.register("ada", "ios", token: "ada-tablet")
            try await peer.register("bo", "android", token: "bo-phone")
            try await peer.register("eve", "android", token: "eve-phone")
            try await Self.follow(peer, ["ada", "bo", "cleo"])
            try await Self.campaign(peer, "sale")
            try await pipeline.wait(for: 1, Self.finished)
            try await peer.waitUntilSettled(4)
            let records = try await pipeline.servers.column(
                "SELECT concat_ws(' ', user_id, type, venue_id, title) FROM notifications ORDER BY 1"
            )
            let words = "opportunity 42 Tim Wendelboe starts a sale"
            #expect(records == ["ada \(words)", "bo \(words)", "cleo \(words)"])
            let reached = peer.sandbox.received(.fcm).compactMap(\.token).sorted()
            #expect(reached == ["ada-phone", "ada-tablet", "bo-phone"])
            // A tap on it opens the venue's screen.
            let data = try #require(peer.sandbox.received(.fcm).first?.body["message"]?["data"])
            #expect(data["venueId"] == "42")
            #expect(data["route"] == "/venues/42")
        }
    }

    @Test("a follower without permission, or with a token deleted at log-out, gets only the in-app record and no error")
    func inAppOnly() async throws {
        try await ProviderPeer.run(app: "venues") { peer in
            let pipeline = peer.pipeline
            try await peer.register([("ada", "ada-phone")], more: #","permission":"denied""#)
            try await peer.register("bo", "android", token: "bo-phone")
            try await pipeline.publish([
                pipeline.event(#"{"userId":"bo","token":"bo-phone"}"#, key: "venues.subscription.revoked")
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL")
            try await Self.follow(peer, ["ada", "bo", "cleo"])
            try await Self.campaign(peer, "sale")
            try await pipeline.wait(for: 1, Self.finished)
            let records = try await pipeline.servers.column("SELECT user_id FROM notifications ORDER BY 1")
            #expect(records == ["ada", "bo", "cleo"])
            let states = try await pipeline.servers.column("SELECT DISTINCT state FROM deliveries")
            #expect(states == ["suppressed"])
            #expect(peer.sandbox.received(.fcm).isEmpty)
            #expect(try await pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
        }
    }

    @Test("a user who has muted the venue gets the record and no push; a former follower gets neither")
    func mutedAndGone() async throws {
        try await ProviderPeer.run(app: "venues") { peer in
            let pipeline = peer.pipeline
            try await peer.register("ada", "android", token: "ada-phone")
            try await peer.register("bo", "android", token: "bo-phone")
            try await peer.register("cleo", "android", token: "cleo-phone")
            try await Self.follow(peer, ["ada", "cleo"])
            try await Self.follow(peer, ["bo"], #","muted":true"#)
            try await pipeline.publish([
                pipeline.event(#"{"userId":"cleo","topic":"venue:42"}"#, key: "venues.follow.removed")
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM follows WHERE removed_at IS NOT NULL")
            try await Self.campaign(peer, "sale")
            try await pipeline.wait(for: 1, Self.finished)
            try await peer.waitUntilSettled(2)
            let fates = try await pipeline.servers.column(
                "SELECT concat_ws(' ', user_id, state, reason) FROM deliveries ORDER BY 1"
            )
            #expect(fates == ["ada delivered", "bo suppressed topic-muted"])
            #expect(peer.sandbox.received(.fcm).map(\.token) == ["ada-phone"])
        }
    }

    @Test("an event without a venue is the app's announcement, and opens the notifications screen")
    func system() async throws {
        try await ProviderPeer.run(app: "venues") { peer in
            let pipeline = peer.pipeline
            try await peer.register("ada", "android", token: "ada-phone")
            try await peer.feed("ada", #""locale":"nb""#)
            let body = #"{"id":"word","to":{"everyone":true},"title":"Ny versjon","body":"Oppdater appen."}"#
            try await pipeline.publish([pipeline.event(body, key: "venues.system")])
            try await pipeline.wait(for: 1, Self.finished)
            try await peer.waitUntilSettled(1)
            let data = try #require(peer.sandbox.received(.fcm).first?.body["message"]?["data"])
            #expect(data["venueId"] == nil)
            #expect(data["route"] == "/notifications")
        }
    }
}
