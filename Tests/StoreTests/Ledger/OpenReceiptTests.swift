import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@Suite(
    "Receipts in the ledger",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct OpenReceiptTests {
    /// Records a notification for each user and settles its one delivery as accepted at `sentAt`, due immediately.
    private static func accept(_ servers: ServerFixture, _ users: [String], sentAt: Timestamp) async throws
        -> [DeliveryKey]
    {
        let claim = Claim.fresh
        let records = try servers.sending(id: "e1", users: users)
        _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
        let keys = records.map { DeliveryKey(notification: $0.key, channel: .push, target: "sub_0000000000000001") }
        let settlements = keys.map { key in
            var settlement = Settlement(key, .accepted, providerMessageID: "ticket-1", dueIn: .zero)
            settlement.sentAt = sentAt
            return settlement
        }
        let count = try await WorkerStore(pool: servers.pool, lease: .seconds(60)).settle(settlements, of: claim)
        #expect(count == users.count)
        return keys
    }

    private static var hourAgo: Timestamp {
        Timestamp(clamping: SystemTime().now().microseconds - 3_600_000_000)
    }

    @Test("a due receipt is taken once and is due again without a result, and the sweeper ignores it")
    func taking() async throws {
        try await ServerFixture.withSchema { servers in
            let keys = try await Self.accept(servers, ["u1", "u2", "u3"], sentAt: Self.hourAgo)
            let book = WorkerStore(pool: servers.pool)
            let swept = try await DueDeliveryStore(pool: servers.pool, strandedAfter: .zero).take(.low, atMost: 10)
            #expect(swept.isEmpty)
            let first = try await book.takeReceipts(atMost: 2)
            let second = try await book.takeReceipts(atMost: 10)
            let third = try await book.takeReceipts(atMost: 10)
            #expect(first.count == 2)
            #expect(Set(first).union(second) == Set(keys))
            #expect(third.isEmpty)
            let ahead = "SELECT count(*) FROM deliveries WHERE due_at > now() + interval '9 min' AND state = 'accepted'"
            #expect(try await servers.count(ahead) == 3)
            _ = try await servers.owner.run("UPDATE deliveries SET due_at = now()", [])
            let again = try await book.takeReceipts(atMost: 10)
            #expect(Set(again) == Set(keys))
        }
    }

    @Test("a claim returns the data for the query and the result, even without device and notification")
    func claiming() async throws {
        try await ServerFixture.withSchema { servers in
            let sentAt = Self.hourAgo
            let keys = try await Self.accept(servers, ["u1"], sentAt: sentAt)
            let book = WorkerStore(pool: servers.pool)
            let bare = try #require(try await book.claimReceipts(keys, as: .fresh).first)
            #expect(bare.key == keys[0])
            #expect(bare.ticket == "ticket-1")
            #expect(bare.attempts == 1)
            #expect(bare.sentAt == sentAt)
            #expect(bare.age >= .seconds(3600) && bare.age < .seconds(4200))
            #expect(bare.origin?.event.text == "e1")
            #expect(bare.origin?.type.text == "system")
            #expect(bare.token == nil)
            _ = try await servers.owner.run(
                """
                INSERT INTO push_subscriptions 
                    (app, profile_id, id, device_token, platform, provider, registered_at, last_seen_at, source_time)
                VALUES ('drop', 'u1', 'sub_0000000000000001', 'token-1', 'ios', 'expo', now(), now(), now())
                """,
                []
            )
            _ = try await servers.owner.run("DELETE FROM inbox", [])
            let claimed = try #require(try await book.claimReceipts(keys, as: .fresh).first)
            #expect(claimed.token?.text == "token-1")
            #expect(claimed.origin == nil)
        }
    }

    @Test("a receipt without a result keeps its send time and ticket and can be claimed again")
    func lookAgain() async throws {
        try await ServerFixture.withSchema { servers in
            let sentAt = Self.hourAgo
            let keys = try await Self.accept(servers, ["u1"], sentAt: sentAt)
            let claim = Claim.fresh
            let book = WorkerStore(pool: servers.pool)
            _ = try await book.claimReceipts(keys, as: claim)
            let later = Settlement(keys[0], .accepted, burnsAttempt: false, dueIn: .seconds(1800))
            let count = try await WorkerStore(pool: servers.pool, lease: .seconds(60)).settle([later], of: claim)
            #expect(count == 1)
            let early = try await book.takeReceipts(atMost: 10)
            #expect(early.isEmpty)
            let again = try #require(try await book.claimReceipts(keys, as: .fresh).first)
            #expect(again.sentAt == sentAt && again.ticket == "ticket-1" && again.attempts == 1)
        }
    }
}
