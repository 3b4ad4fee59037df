import IntegrationSupport
import Push
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Budgets of providers",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct BudgetTests {
    /// A budget so slow that nothing is refilled during a test.
    private static let slow = PushBudget(name: "expo/a", pushes: 1_000, period: .seconds(86_400))

    private static func meter(_ servers: ServerFixture) -> RateBudget {
        RateBudget(
            store: WorkerStore(pool: servers.pool, lease: .seconds(60)),
            time: SystemTime(),
            logger: PipelineContext.test.logger
        )
    }

    private static var soon: ContinuousClock.Instant { .now + .milliseconds(50) }

    @Test("two workers draw from one bucket, and a tenth of it is reserved for urgent messages")
    func shared() async throws {
        try await ServerFixture.withSchema { servers in
            let (one, other) = (Self.meter(servers), Self.meter(servers))
            #expect(await one.take(upTo: 600, of: Self.slow, for: .normal, until: Self.soon) == 600)
            #expect(await other.take(upTo: 600, of: Self.slow, for: .bulk, until: Self.soon) == 300)
            #expect(await other.take(upTo: 1, of: Self.slow, for: .normal, until: Self.soon) == 0)
            #expect(await one.take(upTo: 600, of: Self.slow, for: .urgent, until: Self.soon) == 100)
            #expect(await one.take(upTo: 1, of: Self.slow, for: .urgent, until: Self.soon) == 0)
        }
    }

    @Test("a bucket refills at its rate up to its size, and a waiter gets the first shares")
    func refilled() async throws {
        try await ServerFixture.withSchema { servers in
            let meter = Self.meter(servers)
            let budget = PushBudget(name: "fast", pushes: 100, period: .milliseconds(200))
            let far = ContinuousClock.now + LongestWait.duration
            #expect(await meter.take(upTo: 100, of: budget, for: .urgent, until: far) == 100)
            #expect(await meter.take(upTo: 50, of: budget, for: .urgent, until: far) > 0)
            try await servers.pass("1 h", since: "refilled_at", in: "provider_budgets")
            #expect(await Self.meter(servers).take(upTo: 1_000, of: budget, for: .urgent, until: far) == 100)
        }
    }

    @Test("an unused share can be taken again by the same worker")
    func givenBack() async throws {
        try await ServerFixture.withSchema { servers in
            let meter = Self.meter(servers)
            #expect(await meter.take(upTo: 900, of: Self.slow, for: .normal, until: Self.soon) == 900)
            meter.giveBack(40, of: Self.slow, for: .normal)
            #expect(await meter.take(upTo: 50, of: Self.slow, for: .normal, until: Self.soon) == 40)
        }
    }

    @Test("a worker that dies with a share leaves the rest of the bucket to the others")
    func deadHolder() async throws {
        try await ServerFixture.withSchema { servers in
            do {
                let doomed = Self.meter(servers)
                _ = await doomed.take(upTo: 500, of: Self.slow, for: .urgent, until: Self.soon)
            }
            let other = Self.meter(servers)
            #expect(await other.take(upTo: 1_000, of: Self.slow, for: .urgent, until: Self.soon) == 500)
        }
    }
}
