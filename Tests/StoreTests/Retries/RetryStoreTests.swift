import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Waiting retries",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct RetryStoreTests {
    private static func step(
        _ store: RetryStore,
        _ provider: String = "fcm",
        from begin: Timestamp? = nil,
        atMost limit: Int = 100
    ) async throws -> RetryStore.Step {
        let app = try #require(AppID(validating: "drop"))
        return try await store.bringForward(
            app,
            provider,
            .normal,
            from: begin,
            atMost: limit,
            after: .zero,
            pausing: .milliseconds(5)
        )
    }

    @Test("retries are counted by app and provider, with the due time of the last one")
    func counted() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 300)
            try await servers.addRetry("b", through: "fcm", dueIn: 600)
            try await servers.addRetry("c", through: "expo", dueIn: 900)
            try await servers.addRetry("d", through: "expo", dueIn: 0)
            let store = RetryStore(pool: servers.pool)
            let all = try await store.waiting()
            let told = all.map { "\($0.app) \($0.provider) \($0.count) \($0.isCapped)" }
            #expect(told == ["drop expo 1 false", "drop fcm 2 false"])
            let overdue = try await store.due().map { "\($0.app) \($0.provider) \($0.count)" }
            #expect(overdue == ["drop expo 1"])
            let due = try await servers.column("SELECT due_at::text FROM deliveries WHERE user_id = 'b'")
            let last = try #require(all.last).lastDue.description
            #expect(due.first??.prefix(10) == last.prefix(10), "\(last)")
            let capped = try await store.waiting(atMost: 1)
            #expect(capped.count == 1 && capped.first?.isCapped == true, "\(capped)")
        }
    }

    @Test("only the retries of the outlet are brought forward, without an attempt, and a claim gets each of them once")
    func forward() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 300)
            try await servers.addRetry("b", through: "fcm", dueIn: 3_600)
            try await servers.addRetry("c", through: "expo", dueIn: 900)
            let store = RetryStore(pool: servers.pool)
            let step = try await Self.step(store)
            #expect(step == RetryStore.Step(moved: 2, next: nil))
            let states = try await servers.retryStates()
            #expect(states == ["a deferred soon 1", "b deferred soon 1", "c retrying later 1"])
            let again = try await Self.step(store)
            #expect(again.moved == 0, "a second call finds nothing")
            let due = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
            var released: Set<String> = []
            try await eventually("the sweeper releases both") {
                for group in try await due.take(.normal, atMost: 10) { released.insert(group.recipient.user.text) }
                return released == ["a", "b"]
            }
        }
    }

    @Test("a long wait that no tier fits is brought forward too, and a wait for a rate limit or by a rule is not")
    func longWaits() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 7_200, state: "deferred")
            try await servers.addRetry("b", through: "fcm", dueIn: 7_200, reason: "QUOTA_EXCEEDED", state: "deferred")
            try await servers.addRetry("c", through: "fcm", dueIn: 600, reason: "device-rate")
            try await servers.addRetry("d", through: "fcm", dueIn: 7_200, reason: "quiet-hours", state: "deferred")
            try await servers.addRetry("e", through: "fcm", dueIn: 600, reason: "SENDER_ID_MISMATCH")
            let store = RetryStore(pool: servers.pool)
            let waiting = try await store.waiting()
            #expect(waiting.map(\.provider) == ["fcm"])
            #expect(waiting.map(\.count) == [1])
            let limited = try await store.limited()
            #expect(limited.map(\.provider) == ["fcm"])
            #expect(limited.map(\.count) == [2])
            let step = try await Self.step(store)
            #expect(step.moved == 1)
            let states = try await servers.retryStates()
            #expect(
                states == [
                    "a deferred soon 1", "b deferred later 1", "c retrying later 1", "d deferred later 1",
                    "e retrying later 1",
                ]
            )
            let after = try await store.waiting()
            #expect(after.isEmpty, "it is about to be sent")
            let soon = try await store.due()
            #expect(soon.map(\.count) == [1])
        }
    }

    @Test("a deferred wait for a rate limit counts until it is due")
    func shortWaits() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 50, reason: "QUOTA_EXCEEDED", state: "deferred")
            try await servers.addRetry("b", through: "fcm", dueIn: 50, state: "deferred")
            let store = RetryStore(pool: servers.pool)
            let limited = try await store.limited()
            #expect(limited.map(\.count) == [1])
            let waiting = try await store.waiting()
            #expect(waiting.isEmpty, "it was brought forward")
        }
    }

    @Test("a walk in small steps passes the deliveries of other outlets and those with the same due time")
    func walk() async throws {
        try await ServerFixture.withSchema { servers in
            for user in 1...4 { try await servers.addRetry("x\(user)", through: "expo", dueIn: 300) }
            try await servers.addRetry("y", through: "fcm", dueIn: 900)
            _ = try await servers.owner.run(
                """
                UPDATE ledger SET due_at = date_trunc('hour', now())
                    + CASE person WHEN (SELECT number FROM people WHERE user_id = 'y') THEN 4 ELSE 2 END * interval '1 h'
                """
            )
            let store = RetryStore(pool: servers.pool)
            var (moved, steps, begin) = (0, 0, Timestamp?.none)
            repeat {
                let step = try await Self.step(store, from: begin, atMost: 4)
                (moved, begin, steps) = (moved + step.moved, step.next, steps + 1)
            } while begin != nil && steps < 10
            #expect(moved == 1 && begin == nil, "after \(steps) steps")
        }
    }
}
