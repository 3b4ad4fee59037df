import BellhopRules
import IntegrationSupport
import Store
import TestSupport
import Testing

@Suite(
    "Badges",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct BadgeTests {
    /// Returns catalogues that request the badge on every platform.
    private static func everywhere() throws -> CatalogSet {
        let all = #"badgePlatforms: ["ios", "android", "web"]"#
        return try ServerFixture.shipped("drop", replacing: #"badgePlatforms: ["ios"]"#, with: all)
    }

    /// Returns the messages to a device, in the order of their arrival.
    private static func messages(_ peer: ProviderPeer, to token: String) -> [JSONValue] {
        peer.sandbox.received(.fcm).filter { $0.token == token }.compactMap { $0.body["message"] }
    }

    private static func badges(_ peer: ProviderPeer, to token: String) -> [JSONValue?] {
        messages(peer, to: token).map { $0["apns"]?["payload"]?["aps"]?["badge"] }
    }

    /// Waits until the users who have read something are released.
    private static func handedOver(_ peer: ProviderPeer, _ users: Int) async throws {
        try await eventually("\(users) are handed over") {
            peer.pipeline.metrics.text().contains("bellhop_badge_updates_total \(users)\n")
        }
        try await peer.pipeline.wait(for: 0, "SELECT count(*) FROM badge_updates")
    }

    @Test("a push contains the number of unread notifications in the field of each platform")
    func counting() async throws {
        try await ProviderPeer.run(catalogs: try Self.everywhere()) { peer in
            try await peer.register("u1", "ios", token: "apple")
            try await peer.register("u1", "android", token: "android")
            for event in 1...3 {
                try await peer.publish(["e\(event)"], to: ["u1"])
                try await peer.waitUntilSettled(2 * event)
            }
            #expect(Self.badges(peer, to: "apple") == [1, 2, 3])
            let android = Self.messages(peer, to: "android")
            #expect(android.compactMap { $0["android"]?["notification"]?["tag"] }.count == 3)
            #expect(android.map { $0["android"]?["notification"]?["notification_count"] } == [1, 2, 3])
            #expect(android.map { $0["data"]?["badge"] } == ["1", "2", "3"])
        }
    }

    @Test("two events of one batch count up, although neither was stored when the other was looked up")
    func oneBatch() async throws {
        try await ProviderPeer.run { peer in
            let users = (0..<40).map { "u\($0)" }
            for user in users { try await peer.register(user, "ios", token: "phone-\(user)") }
            var together = 0
            for (number, user) in users.enumerated() where together < 3 {
                let batches = peer.pipeline.batches
                try await peer.publish(["e1", "e2"], to: [user])
                try await peer.waitUntilSettled(2 * number + 2)
                guard peer.pipeline.batches == batches + 1 else { continue }
                together += 1
                #expect(Set(Self.badges(peer, to: "phone-\(user)")) == [1, 2])
            }
            #expect(together > 0, "no two events came in one batch")
        }
    }

    @Test(
        "any number of reads by the inbox API sends each phone of the user one silent update, and other users none"
    )
    func reading() async throws {
        try await ProviderPeer.run(catalogs: try Self.everywhere()) { peer in
            try await peer.register("u1", "ios", token: "phone")
            try await peer.register("u1", "ios", token: "tablet")
            try await peer.register("u1", "android", token: "android")
            try await peer.register("u2", "ios", token: "stranger")
            try await peer.publish((1...7).map { "e\($0)" }, to: ["u1", "u2"])
            try await peer.waitUntilSettled(28)
            peer.sandbox.forgetReceived()
            try await peer.read("u1", where: "event_id <= 'e5'")
            try await eventually("all are told") { peer.sandbox.received(.fcm).count >= 3 }
            try await Self.handedOver(peer, 1)
            let updates = peer.sandbox.received(.fcm)
            #expect(updates.compactMap(\.token).sorted() == ["android", "phone", "tablet"])
            #expect(updates.allSatisfy { $0.refused == nil && $0.body["message"]?["notification"] == nil })
            let apple = updates.filter { $0.token != "android" }
            #expect(apple.allSatisfy { $0.body["message"]?["apns"]?["payload"] == ["aps": ["badge": 2]] })
            #expect(apple.allSatisfy { $0.body["message"]?["apns"]?["headers"]?["apns-priority"] == "5" })
            let android = updates.first { $0.token == "android" }?.body["message"]
            #expect(android?["data"] == ["badge": "2"] && android?["android"]?["priority"] == "NORMAL")
            #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM deliveries") == 28)
        }
    }

    @Test("a read by a client without a user changes nothing and sends no update")
    func strangers() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register("u1", "ios", token: "phone")
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(1)
            let pool = try ServerFixture.makePool(setUp: peer.pipeline.servers.namespace.setUp(as: .api))
            let changed = try await pool.run("UPDATE inbox SET read_at = now()").affectedCount
            await pool.close()
            #expect(changed == 0)
            #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM badge_updates") == 0)
        }
    }

    @Test("a browser, which would have to show something, gets no update, and neither does a user with pushes off")
    func nothingToTell() async throws {
        try await ProviderPeer.run(catalogs: try Self.everywhere()) { peer in
            try await peer.register("u1", "web", token: "browser")
            try await peer.register("u2", "ios", token: "phone")
            try await peer.publish(["e1"], to: ["u1", "u2"])
            try await peer.waitUntilSettled(2)
            try await peer.feed("u2", #""pushEnabled":false"#)
            try await peer.register("u3", "ios", token: "other")
            peer.sandbox.forgetReceived()
            for user in ["u1", "u2"] { try await peer.read(user) }
            try await Self.handedOver(peer, 2)
            // In the same lane, after the updates of those two users.
            try await peer.publish(["e2"], to: ["u3"])
            try await peer.waitUntilSettled(3)
            #expect(peer.sandbox.received(.fcm).map(\.token) == ["other"])
        }
    }

    @Test("a gone device that a badge update finds is revoked, and nothing else is written")
    func deadDevice() async throws {
        try await ProviderPeer.run { peer in
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(1)
            try await peer.register("u1", "ios", token: "dead-phone")
            try await peer.register("u1", "ios", token: "phone")
            try await peer.read("u1")
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = 'UNREGISTERED'"
            )
            let living = try await peer.pipeline.servers.column(
                "SELECT device_token FROM push_subscriptions WHERE revoked_at IS NULL"
            )
            #expect(living == ["phone"])
            try await eventually("the other is told") { Self.badges(peer, to: "phone") == [0] }
            #expect(try await peer.fates() == ["e1|u1|-|suppressed|no-device"])
            #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
        }
    }

    @Test("the badges of an app under a hold wait for its release, and those of other apps do not")
    func held() async throws {
        try await ServerFixture.withSchema { servers in
            let book = BadgeStore(pool: servers.pool)
            _ = try await servers.owner.run(
                "INSERT INTO badge_updates (app, user_id) VALUES ('drop', 'u1'), ('safe', 'u2')"
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO holds (app, provider, operator, because)
                VALUES ('drop', '', 'ada', 'a test'), ('safe', 'fcm', 'ada', 'a test')
                """
            )
            let others = try await book.take(atMost: 10, calm: .zero)
            #expect(others.map(\.recipient.user.text) == ["u2"])
            _ = try await servers.owner.run("DELETE FROM holds")
            let released = try await book.take(atMost: 10, calm: .zero)
            #expect(released.map(\.recipient.user.text) == ["u1"])
        }
    }

    @Test("a user who continues to read gets one update afterwards, and another one after a change during the update")
    func calm() async throws {
        try await ServerFixture.withSchema { servers in
            let book = BadgeStore(pool: servers.pool)
            _ = try await servers.owner.run("INSERT INTO badge_updates (app, user_id) VALUES ('drop', 'u1')")
            #expect(try await book.take(atMost: 10, calm: .seconds(60)).isEmpty)
            try await servers.pass("61 s", since: "requested_at", in: "badge_updates")
            let taken = try await book.take(atMost: 10, calm: .seconds(60))
            #expect(taken.map(\.recipient.user.text) == ["u1"])
            #expect(try await book.take(atMost: 10, calm: .seconds(60)).isEmpty)
            _ = try await servers.owner.run("UPDATE badge_updates SET requested_at = now(), handed_over_at = NULL")
            try await book.finish(taken)
            let again = try await book.take(atMost: 10, calm: .zero)
            #expect(again.map(\.recipient.user.text) == ["u1"])
            try await book.finish(again)
            #expect(try await servers.count("SELECT count(*) FROM badge_updates") == 0)
        }
    }
}
