import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

/// A user's number after the database has lost the transactions that assigned it: another user has the same number.
///
/// Two schemas stand for two servers: the numbers of one have no meaning in the other.
@Suite(
    "Numbers of another history",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct NumberHistoryTests {
    /// Runs a body on a new database that has assigned `anna`'s number to `bert`, with her key from the former
    /// database.
    private static func afterFailover(_ body: (UserKey, ServerFixture) async throws -> Void) async throws {
        try await ServerFixture.withSchema { former in
            try await ServerFixture.withSchema { new in
                try await former.enrol("anna")
                try await new.enrol("bert")
                let key = try await former.person("anna")
                let other = try await new.person("bert")
                #expect(key.number?.value == other.number?.value)
                #expect(key.number != other.number)
                try await body(key, new)
            }
        }
    }

    @Test("a notification whose user was looked up before a failover is recorded for that user")
    func recorded() async throws {
        try await Self.afterFailover { anna, servers in
            let records = try servers.sending(id: "e1", users: ["anna"]).map { InboxRecord($0, of: anna) }
            let claim = Claim.fresh
            let outcomes = try await WorkerStore(pool: servers.pool).record(records, as: claim)
            #expect(outcomes == [.recorded])
            #expect(try await servers.column("SELECT user_id FROM notifications") == ["anna"])
            // The sender still has the key from before the failover.
            let ledger = WorkerStore(pool: servers.pool, lease: .seconds(60))
            let delivered = Settlement(DeliveryKey(records[0].key, target: 1), .delivered)
            let settled = try await ledger.settle([delivered], of: claim)
            #expect(settled == 1)
            #expect(try await servers.column("SELECT user_id || ' ' || state FROM deliveries") == ["anna delivered"])
        }
    }

    @Test("a batch with users of both histories gives each user their own notification")
    func mixed() async throws {
        try await Self.afterFailover { anna, servers in
            var records = try servers.records(id: "e1", users: ["anna", "bert", "carl"], title: "Hei")
            let bert = try await servers.person("bert")
            for index in records.indices {
                switch records[index].key.recipient.user.text {
                case "anna": records[index] = InboxRecord(records[index], of: anna)
                case "bert": records[index] = InboxRecord(records[index], of: bert)
                default: break
                }
            }
            let outcomes = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            #expect(outcomes == [.recorded, .recorded, .recorded])
            let users = try await servers.column("SELECT user_id FROM notifications ORDER BY 1")
            #expect(users == ["anna", "bert", "carl"])
        }
    }

    @Test("unread counts and recent pushes of another user are not used for a user from before the failover")
    func lookedUp() async throws {
        try await Self.afterFailover { anna, servers in
            let records = try servers.sending(id: "e1", users: ["bert"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            _ = try await servers.owner.run("UPDATE inbox SET urgency = 2")
            let bert = try await servers.person("bert")
            let unread = try await WorkerStore(pool: servers.pool).unread(of: [anna, bert])
            #expect(unread == [bert: 1])
            let answers = try await WorkerStore(pool: servers.pool).recentPushes(
                [RecentPushQuestion(anna, burst: nil, most: 5), RecentPushQuestion(bert, burst: nil, most: 5)]
            )
            #expect(answers.map(\.lowPriority) == [0, 1])
        }
    }

    @Test("sessions of one server share a history, and another database has a different one")
    func histories() async throws {
        try await ServerFixture.withSchema { one in
            try await ServerFixture.withSchema { other in
                func history(_ servers: ServerFixture) async throws -> DatabaseHistory {
                    try await servers.pool.withConnection { (connection) throws(PostgresError) in connection.history }
                }
                let first = try await history(one)
                let second = try ServerFixture.makePool(setUp: one.namespace.setUp(as: .worker), size: 1)
                let again = try await second.withConnection { (connection) throws(PostgresError) in connection.history }
                await second.close()
                let elsewhere = try await history(other)
                #expect(first == again)
                #expect(first != elsewhere)
            }
        }
    }
}

extension ServerFixture {
    fileprivate func enrol(_ user: String) async throws {
        _ = try await owner.run("INSERT INTO people (app, user_id) VALUES ('drop', $1)", [.text(user)])
    }

    /// Returns the key as the look-up produces it.
    fileprivate func person(_ user: String) async throws -> UserKey {
        let key = try #require(UserKey("drop", user))
        let found = try await WorkerStore(pool: pool).recipients(of: [key])
        return try #require(found.keys.first)
    }
}
