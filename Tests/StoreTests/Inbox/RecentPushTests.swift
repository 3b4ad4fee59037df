import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Recent pushes of devices",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct RecentPushTests {
    /// Returns SQL that inserts a notification of low priority, created `ago` seconds ago, with a row of the ledger.
    private static func notify(_ number: Int, ago: Int, _ state: String = "'delivered'", _ more: String = "") -> String
    {
        let values = more.isEmpty ? "NULL" : "'\(more)'"
        return """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority, created_at,
                collapse_key)
            VALUES ('drop', 'u1', 'noti_000000000000000\(number)', 'e\(number)', '\\x00', 'system', 'T', '', 'low',
                now() - interval '\(ago) s', 'k');
            INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, decision)
            VALUES ('drop', 'u1', 'noti_000000000000000\(number)', 'push', 'sub_00000000000000fa', \(state), \(values));
            """
    }

    /// Returns the count, and the age in seconds of the key's latest push, which is `nil` if there is none.
    private static func ask(_ servers: ServerFixture) async throws -> (ago: Int?, count: Int) {
        let user = UserKey(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: "u1"))
        )
        let known = try await WorkerStore(pool: servers.pool).recipients(of: [user])
        let person = try #require(known.keys.first)
        let question = RecentPushQuestion(person, burst: ("k", .seconds(60)), most: 3)
        let answer = try #require(try await WorkerStore(pool: servers.pool).recentPushes([question]).first)
        let now = try await servers.owner.run("SELECT now()", []).instant(0, 0)
        let ago = answer.latest.map { Int(((now - $0.microseconds) / 1_000_000)) }
        return (ago, answer.lowPriority)
    }

    private static func run(_ sql: [String], on servers: ServerFixture) async throws {
        try await servers.owner.withConnection { (connection) throws(PostgresError) in
            try connection.execute(sql.joined(separator: "\n"))
        }
    }

    @Test("a deferred push counts from the end of its wait, and a digest's deliveries are not counted")
    func waited() async throws {
        try await ServerFixture.withSchema { servers in
            let until = #"{"until": "2099-01-01T00:00:00.000Z", "burst": true}"#
            let digest = #"{"until": "2020-01-01T00:00:00.000Z", "digest": "2020-01-01T00:00:00.000Z"}"#
            try await Self.run(
                [Self.notify(1, ago: 90, "'deferred'", until), Self.notify(2, ago: 20, "'delivered'", digest)],
                on: servers
            )
            let found = try await Self.ask(servers)
            #expect(found.ago.map { $0 < -1_000_000 } == true)
            #expect(found.count == 1)
            // Another device's quiet hours do not affect the burst, and an overdue push gives way to a new one.
            try await Self.run(["UPDATE ledger SET decision = decision - 'burst'"], on: servers)
            #expect(try await Self.ask(servers).ago.map { (20...40).contains($0) } == true)
            let overdue = #"'{"until": "2020-01-01T00:00:00.000Z", "burst": true}'"#
            try await Self.run(["UPDATE ledger SET state = 'w', decision = \(overdue)"], on: servers)
            #expect(try await Self.ask(servers).ago == nil)
        }
    }
}
