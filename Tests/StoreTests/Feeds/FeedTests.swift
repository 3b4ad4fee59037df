import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Feeds",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct FeedTests {
    @Test("a recipient keeps fields that a message omits and loses fields that it sets to null")
    func partialUpdates() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([
                recipient(
                    "u1",
                    1,
                    #""locale":"nb","timezone":"Europe/Oslo","email":"a@example.com","pushEnabled":false"#
                )
            ])
            try await servers.feed([recipient("u1", 2, #""timezone":null,"emailEnabled":false"#)])
            let row = try await servers.column(
                "SELECT concat_ws('|', locale, timezone, email, push_enabled, email_enabled) FROM recipients"
            )
            #expect(row == ["nb|a@example.com|f|f"])
        }
    }

    @Test("an older update never overwrites a newer one, in any order and any batches")
    func anyOrder() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var chance = SeededChance(seed)
        let words = Self.story
        try await ServerFixture.withSchema { servers in
            for word in words { try await servers.feed([word]) }
            let inOrder = try await servers.fedState()
            for _ in 0..<8 {
                try await servers.forgetFeeds()
                var rest = words.shuffled(using: &chance)[...]
                while !rest.isEmpty {
                    let part = rest.prefix(Int.random(in: 1...6, using: &chance))
                    try await servers.feed(Array(part))
                    rest = rest.dropFirst(part.count)
                }
                // Every message arrives again: repeats change nothing.
                try await servers.feed(words.shuffled(using: &chance))
                let shuffled = try await servers.fedState()
                #expect(shuffled == inOrder, "seed \(seed)")
            }
        }
    }

    @Test(
        "the least recently seen devices above the limit end, and a device that registers again is active again"
    )
    func deviceCap() async throws {
        try await ServerFixture.withSchema { servers in
            let most = SubscriptionFeed.mostDevices
            try await servers.feed((0..<most + 3).map { device("u1", $0, "token-\($0)") } + [device("u2", 0, "other")])
            let ended =
                "SELECT device_token FROM push_subscriptions WHERE revoke_reason = 'too-many' ORDER BY device_token"
            #expect(try await servers.column(ended) == ["token-0", "token-1", "token-2"])
            // The source times are long before the limit was applied; a registration of today is later.
            _ = try await servers.pool.run(
                "UPDATE push_subscriptions SET revoked_at = last_seen_at WHERE revoked_at IS NOT NULL"
            )
            try await servers.feed([device("u1", 59, "token-0")])
            #expect(try await servers.column(ended) == ["token-1", "token-2", "token-3"])
            #expect(
                try await servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL") == most + 1
            )
        }
    }

    @Test("a device with a new token keeps its subscription, in either order of the two registrations")
    func rotation() async throws {
        let live = "SELECT device_token FROM push_subscriptions WHERE revoked_at IS NULL"
        let (first, second) = (device("u1", 1, "old"), device("u1", 2, "new", #","replaces":"old""#))
        try await ServerFixture.withSchema { servers in
            try await servers.feed([first])
            let id = try await servers.column("SELECT id FROM push_subscriptions")
            try await servers.feed([second])
            #expect(try await servers.column("SELECT id FROM push_subscriptions WHERE device_token = 'new'") == id)
            #expect(try await servers.column(live) == ["new"])
            // The former token is registered again by the same user: another device with another subscription.
            try await servers.feed([device("u1", 5, "old")])
            #expect(try await servers.column(live + " ORDER BY 1") == ["new", "old"])
            try await servers.feed([device("u1", 6, "new", #","replaces":"old""#)])
            #expect(try await servers.column(live) == ["new"])
            let reasons = try await servers.column(
                "SELECT revoke_reason FROM push_subscriptions WHERE device_token = 'old'"
            )
            #expect(reasons == ["replaced"])
        }
        for words in [[[second], [first]], [[first, second]], [[second, first]]] {
            try await ServerFixture.withSchema { servers in
                for word in words { try await servers.feed(word) }
                #expect(try await servers.column(live) == ["new"])
            }
        }
    }

    @Test("a device that logged out under its new token stays revoked when its rotation arrives later")
    func rotationAfterLogOut() async throws {
        let live = "SELECT device_token FROM push_subscriptions WHERE revoked_at IS NULL"
        let rotated = device("u1", 2, "new", #","replaces":"old""#)
        let loggedOut =
            #"{"app":"drop","eventType":"subscription.revoked","userId":"u1","token":"new","sentAtIso":"\#(at(3))"}"#
        for later in [[[loggedOut], [rotated]], [[rotated], [loggedOut]], [[loggedOut, rotated]]] {
            try await ServerFixture.withSchema { servers in
                try await servers.feed([device("u1", 1, "old")])
                for words in later { try await servers.feed(words) }
                #expect(try await servers.column(live).isEmpty)
                try await servers.feed([device("u1", 4, "new", #","replaces":"old""#)])
                #expect(try await servers.column(live) == ["new"])
            }
        }
    }

    @Test("a deletion erases every row of the user and no row of other users")
    func erasure() async throws {
        try await ServerFixture.withSchema { servers in
            for user in ["u1", "u2"] {
                try await servers.feed([
                    recipient(user, 1, #""locale":"nb","preferences":{"enabled":true}"#),
                    device(user, 2, "token-\(user)"),
                    follow(user, 3, "venue:1"), reminder(user, 4),
                ])
                _ = try await WorkerStore(pool: servers.pool).record(
                    try servers.records(id: "e1", users: [user], title: "Hei", sentAt: at(5))
                )
            }
            try await servers.feed([
                #"{"app":"drop","eventType":"recipient.deleted","userId":"u1","sentAtIso":"\#(at(10))"}"#
            ])
            let tables = [
                ("notifications", "user_id"), ("recipients", "user_id"), ("notification_preferences", "profile_id"),
                ("push_subscriptions", "profile_id"), ("follows", "user_id"), ("reminders", "user_id"),
            ]
            for (table, owner) in tables {
                let owners = try await servers.column("SELECT \(owner) FROM \(table)")
                #expect(owners == ["u2"], "\(table)")
            }
            let traces = try await servers.count("SELECT count(*) FROM tombstones WHERE tombstones::text LIKE '%u1%'")
            #expect(traces == 0)
        }
    }

    @Test("updates from before a deletion do not restore the user, and later updates do")
    func noResurrection() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([
                #"{"app":"drop","eventType":"recipient.deleted","userId":"u1","sentAtIso":"\#(at(10))"}"#
            ])
            try await servers.feed([
                recipient("u1", 9, #""locale":"nb""#), device("u1", 9, "t"), follow("u1", 9, "venue:1"),
                reminder("u1", 9),
            ])
            #expect(try await servers.fedState().isEmpty)
            try await servers.feed([recipient("u1", 11, #""locale":"sv""#), device("u1", 8, "t")])
            let locales = try await servers.column("SELECT locale FROM recipients")
            let devices = try await servers.count("SELECT count(*) FROM push_subscriptions")
            #expect(locales == ["sv"])
            #expect(devices == 0)
        }
    }

    @Test("a token belongs to the user who registered it last, in any order of arrival")
    func tokenOwnership() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([device("u1", 1, "shared"), device("u2", 2, "shared")])
            try await servers.feed([device("u4", 4, "other")])
            try await servers.feed([device("u3", 3, "other")])
            let owners = try await servers.column(
                "SELECT profile_id FROM push_subscriptions WHERE revoked_at IS NULL ORDER BY profile_id"
            )
            #expect(owners == ["u2", "u4"])
            let reasons = try await servers.column(
                "SELECT DISTINCT revoke_reason FROM push_subscriptions WHERE revoked_at IS NOT NULL"
            )
            #expect(reasons == ["token-moved"])
        }
    }

    @Test("a token that forty users register concurrently has one owner")
    func tokenRace() async throws {
        try await ServerFixture.withSchema { servers in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for user in 0..<40 {
                    group.addTask { try await servers.feed([device("u\(user)", 1 + user % 3, "shared")]) }
                }
                try await group.waitForAll()
            }
            let owners = try await servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL")
            #expect(owners == 1)
        }
    }

    @Test("a revocation that overtakes its registration wins, and a later registration restores the device")
    func revocation() async throws {
        try await ServerFixture.withSchema { servers in
            let revoked =
                #"{"app":"drop","eventType":"subscription.revoked","userId":"u1","token":"t","sentAtIso":"\#(at(5))"}"#
            try await servers.feed([revoked])
            try await servers.feed([device("u1", 4, "t")])
            #expect(try await servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL") == 0)
            try await servers.feed([device("u1", 6, "t")])
            #expect(try await servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL") == 1)
            try await servers.feed([revoked])
            #expect(try await servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL") == 1)
        }
    }

    @Test("a message without a source time counts from its arrival")
    func arrivalCounts() async throws {
        try await ServerFixture.withSchema { servers in
            let silent = #"{"app":"drop","eventType":"recipient.upserted","userId":"u1","locale":"nb"}"#
            try await servers.feed([recipient("u1", 30, #""locale":"sv""#)])
            try await servers.feed([silent], arrival: try #require(Timestamp(validating: at(20))))
            #expect(try await servers.column("SELECT locale FROM recipients") == ["sv"])
            try await servers.feed([silent], arrival: try #require(Timestamp(validating: at(40))))
            #expect(try await servers.column("SELECT locale FROM recipients") == ["nb"])
        }
    }

    @Test("each round holds at most one message per user, the oldest first")
    func rounds() throws {
        let entries = try [("u1", 3), ("u2", 1), ("u1", 1), ("u1", 2)].map { user, second in
            let update = try ServerFixture.update(recipient(user, second, #""locale":"nb""#))
            return FeedEntry(update: update, arrival: Timestamp(clamping: 1_800_000_000_000_000))
        }
        let rounds = FeedEntry.rounds(of: entries).map { round in
            round.map { "\($0.update.change.user) \($0.saidAt.microseconds / 1_000_000 % 60)" }
        }
        #expect(rounds == [["u2 1", "u1 1"], ["u1 2"], ["u1 3"]])
    }

    @Test("the source time of a message, even of a deletion, exceeds its arrival by at most a few minutes")
    func boundedTime() throws {
        let arrival = try #require(Timestamp(validating: at(30)))
        let latest = Timestamp(clamping: arrival.microseconds + FeedEntry.mostAhead.microseconds)
        let far = #""sentAtIso":"2999-01-01T00:00:00Z""#
        for type in ["recipient.upserted", "recipient.deleted"] {
            let update = try ServerFixture.update(#"{"app":"drop","eventType":"\#(type)","userId":"u1",\#(far)}"#)
            #expect(FeedEntry(update: update, arrival: arrival).saidAt == latest)
        }
        let near = try ServerFixture.update(recipient("u1", 59, #""locale":"nb""#))
        #expect(FeedEntry(update: near, arrival: arrival).saidAt == Timestamp(validating: at(59)))
    }

    /// Messages about three users and a shared device, each with a different second.
    private static let story: [String] = [
        recipient("u1", 1, #""locale":"nb","email":"a@example.com""#),
        device("u1", 2, "tok"),
        follow("u1", 3, "venue:1"),
        reminder("u1", 4),
        recipient("u1", 5, #""locale":"sv","email":"b@example.com","preferences":{"enabled":false}"#),
        follow("u1", 6, "venue:1", #","muted":true"#),
        device("u2", 7, "tok"),
        recipient("u2", 8, #""timezone":"Europe/Oslo""#),
        #"{"app":"drop","eventType":"follow.removed","userId":"u1","topic":"venue:1","sentAtIso":"\#(at(9))"}"#,
        #"{"app":"drop","eventType":"reminder.removed","userId":"u1","id":"r1","sentAtIso":"\#(at(10))"}"#,
        recipient("u3", 11, #""locale":"da""#),
        device("u3", 12, "tok3"),
        follow("u3", 13, "venue:2"),
        #"{"app":"drop","eventType":"recipient.deleted","userId":"u3","sentAtIso":"\#(at(14))"}"#,
        #"{"app":"drop","eventType":"subscription.revoked","userId":"u2","token":"tok","sentAtIso":"\#(at(15))"}"#,
    ]
}

// MARK: - Messages

/// Returns the instant `second` seconds into a minute of 2026.
private func at(_ second: Int) -> String { "2026-03-01T12:00:\(second < 10 ? "0" : "")\(second)Z" }

private func recipient(_ user: String, _ second: Int, _ fields: String) -> String {
    #"{"app":"drop","eventType":"recipient.upserted","userId":"\#(user)",\#(fields),"sentAtIso":"\#(at(second))"}"#
}

private func device(_ user: String, _ second: Int, _ token: String, _ more: String = "") -> String {
    """
    {"app":"drop","eventType":"subscription.upserted","userId":"\(user)","token":"\(token)","platform":"android",\
    "provider":"fcm","sentAtIso":"\(at(second))"\(more)}
    """
}

private func follow(_ user: String, _ second: Int, _ topic: String, _ more: String = "") -> String {
    #"{"app":"drop","eventType":"follow.added","userId":"\#(user)","topic":"\#(topic)"\#(more),"sentAtIso":"\#(at(second))"}"#
}

private func reminder(_ user: String, _ second: Int) -> String {
    """
    {"app":"drop","eventType":"reminder.set","userId":"\(user)","id":"r1","localTime":"09:00","title":"T","body":"B",\
    "sentAtIso":"\(at(second))"}
    """
}

extension ServerFixture {
    static func update(_ json: String) throws -> FeedUpdate {
        let envelope = InboundEnvelope(body: Array(json.utf8), source: .elsewhere)
        guard case .feed(let update) = try SubmissionParser(try drop()).parse(envelope).get() else {
            throw ServerFixtureError("not a feed message")
        }
        return update
    }

    /// Returns the active rows as text.
    ///
    /// Tombstones and write times are left out, because they only reflect the order of arrival.
    func fedState() async throws -> [String?] {
        try await column(
            """
            SELECT concat_ws('|', 'r', user_id, locale, timezone, email, push_enabled) AS line FROM recipients
            UNION ALL SELECT concat_ws('|', 'p', profile_id, preferences) FROM notification_preferences
            UNION ALL SELECT concat_ws('|', 's', profile_id, device_token) FROM push_subscriptions
                WHERE revoked_at IS NULL
            UNION ALL SELECT concat_ws('|', 'f', user_id, topic, muted) FROM follows WHERE removed_at IS NULL
            UNION ALL SELECT concat_ws('|', 'm', user_id, id, local_time, days, title) FROM reminders
                WHERE removed_at IS NULL
            ORDER BY line
            """
        )
    }

    func forgetFeeds() async throws {
        for table in [
            "recipients", "notification_preferences", "push_subscriptions", "follows", "reminders", "tombstones",
        ] {
            _ = try await owner.run(Statement("DELETE FROM \(table)"))
        }
    }
}
