import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Follow messages",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct FollowFeedTests {
    private static func follow(_ second: Int, _ more: String = "") -> String { word("follow.added", second, more) }

    private static func unfollow(_ second: Int, _ more: String = "") -> String { word("follow.removed", second, more) }

    private static func word(_ type: String, _ second: Int, _ more: String) -> String {
        let time = "2026-03-01T12:00:\(second < 10 ? "0" : "")\(second)Z"
        let topic = #""topic":"venue:1""#
        return #"{"app":"drop","eventType":"\#(type)","userId":"u1",\#(topic)\#(more),"sentAtIso":"\#(time)"}"#
    }

    private static func device(_ token: String, _ second: Int, _ more: String = "") -> String {
        let time = "2026-03-01T12:00:0\(second)Z"
        let device = #""token":"\#(token)","platform":"ios","provider":"fcm","sentAtIso":"\#(time)""#
        return #"{"app":"drop","eventType":"subscription.upserted","userId":"u1",\#(device)\#(more)}"#
    }

    /// Returns the follow as a worker reads it, with role, mute and subscriptions; `nil` if the user does not follow.
    private static func found(_ servers: ServerFixture) async throws -> DecisionFacts.Follow? {
        let key = UserKey(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: "u1"))
        )
        let topic = try #require(Topic(validating: "venue:1"))
        let follows = try await WorkerStore(pool: servers.pool).follows([FollowKey(key, topic)])
        let devices = try await WorkerStore(pool: servers.pool).recipients(of: [key])[key]?.devices ?? []
        return follows[FollowKey(key, topic)]?.facts(for: key, with: devices)
    }

    @Test("partial updates that arrive one by one, in any order, leave the same row")
    func anyOrder() async throws {
        let words = [
            Self.follow(1, #","token":"t1""#), Self.follow(2, #","role":"owner""#), Self.follow(3, #","muted":true"#),
            Self.unfollow(4, #","token":"t1""#),
        ]
        try await ServerFixture.withSchema { servers in
            var rows: Set<String?> = []
            for order in FollowRecordTests.permutations(of: words.count) {
                for place in order { try await servers.feed([words[place]]) }
                rows.formUnion(
                    try await servers.column(
                        """
                        SELECT concat_ws('|', role, muted, devices, removed_at, source_time, whole_time, role_time,
                                         muted_time, ended_time, parts) FROM follows
                        """
                    )
                )
                _ = try await servers.owner.run("DELETE FROM follows", [])
            }
            #expect(rows.count == 1)
            #expect(rows.first??.hasPrefix("owner|t|") == true)
        }
    }

    @Test("the database's start time of a follow is kept while the follow lasts, and is set again by a new follow")
    func followedAt() async throws {
        try await ServerFixture.withSchema { servers in
            func moveBack() async throws {
                try await servers.pass("1 h", since: "followed_at", in: "follows")
            }
            let isNew = "SELECT count(*) FROM follows WHERE followed_at > now() - interval '30 min'"
            try await servers.feed([Self.follow(1)])
            #expect(try await servers.count(isNew) == 1)
            try await moveBack()
            try await servers.feed([
                Self.follow(2), Self.follow(3, #","muted":true"#), Self.follow(4, #","token":"t""#),
            ])
            #expect(try await servers.count(isNew) == 0)
            try await servers.feed([Self.unfollow(5)])
            #expect(try await servers.count(isNew) == 0)
            try await servers.feed([Self.follow(6)])
            #expect(try await servers.count(isNew) == 1)
        }
    }

    @Test("a row that an owner wrote without parts accepts every partial update")
    func bareRow() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO follows (app, topic, user_id, role, since, source_time)
                VALUES ('drop', 'venue:1', 'u1', 'owner', now(), now())
                """,
                []
            )
            try await servers.feed([Self.follow(1, #","muted":true"#)])
            let owner = FollowRole(validating: "owner")
            #expect(try await Self.found(servers) == DecisionFacts.Follow(role: owner, isMuted: true))
        }
    }

    @Test("a device that follows alone is identified by its subscription, even after its token changes")
    func devices() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([Self.device("t1", 1), Self.device("t2", 1)])
            try await servers.feed([Self.follow(2, #","token":"t1""#)])
            let id = "SELECT id FROM push_subscriptions WHERE device_token = "
            let first = try #require(try await servers.column(id + "'t1'").first ?? nil)
            #expect(try await Self.found(servers)?.devices == [first])
            try await servers.feed([Self.device("t3", 3, #","replaces":"t1""#)])
            #expect(try await servers.column(id + "'t3'") == [first])
            #expect(try await Self.found(servers)?.devices == [first])
            try await servers.feed([Self.unfollow(4, #","token":"t3""#)])
            #expect(try await Self.found(servers) == nil)
        }
    }

    @Test("a follow may name a device that is registered later")
    func early() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([Self.follow(1, #","token":"t1","role":"owner""#)])
            #expect(try await Self.found(servers)?.devices == [])
            try await servers.feed([Self.device("t1", 2), Self.device("t2", 2)])
            #expect(try await Self.found(servers)?.devices?.count == 1)
        }
    }

    @Test("a follow message that is older than its user's erasure has no effect")
    func erased() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([Self.follow(1), Self.word("recipient.deleted", 5, "")])
            try await servers.feed([Self.follow(3, #","role":"owner""#)])
            #expect(try await servers.count("SELECT count(*) FROM follows") == 0)
            try await servers.feed([Self.follow(6)])
            try await servers.feed([Self.follow(4, #","role":"owner""#)])
            #expect(try await Self.found(servers) == DecisionFacts.Follow())
        }
    }
}
