import AMQP
import BellhopRules
import IntegrationSupport
import Pipeline
import Postgres
import ServiceRuntime
import Store
import Synchronization
import TestSupport
import Testing

@Suite(
    "Release of due deliveries",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct DueDeliveryDutyTests {
    @Test("an urgent delivery that falls due among 30,000 digests is released before most of them")
    func urgentAmongDigests() async throws {
        try await ServerFixture.withTopology { servers in
            // The rows of all users in turn, so that the oldest thousand include all of them.
            _ = try await servers.owner.run(
                """
                WITH readers AS (
                    INSERT INTO people (app, user_id) SELECT 'drop', 'u' || u FROM generate_series(1, 500) AS u
                    RETURNING number
                )
                INSERT INTO ledger (person, id, target, state, reason, due_at, urgency)
                SELECT number, n, 1, 'w', 'digest', now() - interval '1 min', 2
                FROM generate_series(1, 60) AS n CROSS JOIN readers ORDER BY n, number
                """,
                []
            )
            try await RunningDuty.with(
                { DueDeliveryDuty(context: $0, rhythm: .init(interval: .milliseconds(100))) },
                on: servers
            ) {
                let handed = "SELECT count(*) FROM deliveries WHERE urgency = 2 AND state = 'pending'"
                try await eventually("the first digests are handed over") { try await servers.count(handed) > 0 }
                _ = try await servers.owner.run(
                    """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, due_at, urgency)
                    VALUES ('drop', 'hurry', 'noti_ffffffffffffffff', 'push', 's', 'deferred', 'quiet-hours', now(), 0)
                    """,
                    []
                )
                let before = try await servers.count(handed)
                try await eventually("the urgent one is handed over") {
                    try await servers.count("SELECT count(*) FROM deliveries WHERE urgency = 0 AND state = 'pending'")
                        == 1
                }
                let after = try await servers.count(handed)
                // Two turns of a thousand may come first, the current one and one during this poll, as well as slow
                // polls of the test.
                #expect(after - before <= 5_000)
                let queue = servers.names.resume(.urgent)
                let broker = try servers.broker
                try await eventually("its resume is in the urgent lane") {
                    let counts = try await BrokerSession.with(broker, name: "test") { try $0.checkQueue(queue) }
                    return counts?.messages == 1
                }
            }
        }
    }

    /// Inserts rows of `count` users that are due now.
    private static func lines(_ count: Int, of users: String = "u", in servers: ServerFixture) async throws {
        _ = try await servers.owner.run(
            """
            INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, due_at, urgency)
            SELECT 'drop', $2::text || n, 'noti_ffffffffffffffff', 'push', 's', 'deferred', 'quiet-hours', now(), 0
            FROM generate_series(1, $1::bigint) AS n
            """,
            [.integer(Int64(count)), .text(users)]
        )
    }

    private static func expectResume(in servers: ServerFixture) async throws {
        let queue = servers.names.resume(.urgent)
        let broker = try servers.broker
        try await eventually("its resume is in the urgent lane") {
            let counts = try await BrokerSession.with(broker, name: "test") { try $0.checkQueue(queue) }
            return (counts?.messages ?? 0) > 0
        }
    }

    /// Runs a body after a release of three deliveries whose database reply is lost.
    ///
    /// With `refusing`, the proxy resets new connections from then on.
    private static func withLostRelease(
        refusing: Bool,
        at time: any TimeSource = SystemTime(),
        _ body: @escaping @Sendable (ServerFixture, TCPProxy) async throws -> Void
    ) async throws {
        try await ServerFixture.withTopology { servers in
            let (proxy, url) = try TCPProxy.beforeDatabase()
            defer { proxy.stop() }
            try await lines(3, in: servers)
            var options = PoolOptions(url: try DatabaseURL(url))
            options.setUp = servers.namespace.setUp(as: .worker)
            let pool = PostgresPool(options)
            // The rate identifies the statement: it is its limit.
            proxy.loseReply(whenClientSends: [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0x03, 0xD1], refusing: refusing)
            try await RunningDuty.with(
                { DueDeliveryDuty(context: $0, rhythm: .init(interval: .milliseconds(100), rate: 0x3D1)) },
                on: servers,
                at: time,
                pool: pool
            ) {
                try await eventually("they are taken") {
                    try await servers.count("SELECT count(*) FROM deliveries WHERE state = 'pending'") == 3
                }
                try await body(servers, proxy)
                try await expectResume(in: servers)
                #expect(proxy.connectionCount > 1)
            }
            await pool.close()
        }
    }

    @Test(
        "a release whose database reply is lost is published soon after the database is back, not ten minutes later",
        arguments: [false, true]
    )
    func lostAnswer(isAwayForMinutes: Bool) async throws {
        let time = ShiftedTime()
        try await Self.withLostRelease(refusing: isAwayForMinutes, at: time) { servers, proxy in
            guard isAwayForMinutes else { return }
            time.shift(by: .seconds(120))
            _ = try await servers.owner.run("UPDATE ledger SET due_at = due_at - interval '2 min'")
            proxy.refuse(false)
        }
    }

    @Test("a lost release on which the database fails stops no other release")
    func failingSearch() async throws {
        try await Self.withLostRelease(refusing: true) { servers, proxy in
            try await servers.damage("OLD.state = 'p'", of: "ledger", at: "UPDATE")
            try await Self.lines(1, of: "late", in: servers)
            proxy.refuse(false)
        }
    }

    /// A clock that a test moves forward.
    private final class ShiftedTime: TimeSource {
        private let passed = Mutex(Duration.zero)

        func now() -> Instant { SystemTime().now() }

        func steady() -> ContinuousClock.Instant { .now + passed.withLock { $0 } }

        func shift(by span: Duration) { passed.withLock { $0 += span } }
    }

    /// A clock on which a second passes in a tenth of a second.
    private struct QuickTime: TimeSource {
        private let start = ContinuousClock.now

        func now() -> Instant { SystemTime().now() }

        func steady() -> ContinuousClock.Instant { start + (ContinuousClock.now - start) * 10 }
    }

    /// Releases deliveries and searches for forgotten claims, as a scheduler does.
    private struct ReleaseAndSearch: Service {
        let name = "release and search"
        let release: DueDeliveryDuty
        let search: ForgottenClaimDuty

        init(_ context: SchedulerContext) {
            release = DueDeliveryDuty(context: context, rhythm: .init(interval: .milliseconds(100)))
            let rhythm = ForgottenClaimDuty.Rhythm(
                step: .milliseconds(100),
                rest: .seconds(36_000),
                lease: .seconds(60)
            )
            search = ForgottenClaimDuty(context: context, rhythm: rhythm, beside: release)
        }

        func run(until drain: DrainSignal) async throws {
            async let released: Void = release.run(until: drain)
            try await search.run(until: drain)
            try await released
        }
    }

    @Test("a dead worker's first attempt whose message is gone is released although the search rests for hours")
    func deadWorkersFirstAttempt() async throws {
        try await ServerFixture.withTopology { servers in
            let number = try await ClaimantBook(pool: servers.pool).enrol()
            try await Self.lines(1, in: servers)
            _ = try await servers.owner.run(
                """
                UPDATE ledger SET state = 's', claim = ($1::bigint << 40) + 7, due_at = NULL,
                                  updated_at = now() - interval '90 s'
                """,
                [.integer(number)]
            )
            try await RunningDuty.with({ ReleaseAndSearch($0) }, on: servers, at: QuickTime()) {
                try await Self.expectResume(in: servers)
            }
        }
    }

    @Test("the delivery that a dead worker had claimed is released when its lease ends")
    func deadWorker() async throws {
        try await ServerFixture.withTopology { servers in
            let number = try await ClaimantBook(pool: servers.pool).enrol()
            try await Self.lines(1, in: servers)
            _ = try await servers.owner.run(
                "UPDATE ledger SET state = 's', claim = ($1::bigint << 40) + 7, due_at = now() + interval '1 s'",
                [.integer(number)]
            )
            try await RunningDuty.with(
                { DueDeliveryDuty(context: $0, rhythm: .init(interval: .milliseconds(100))) },
                on: servers,
                at: QuickTime()
            ) {
                try await Self.expectResume(in: servers)
            }
            #expect(try await servers.column("SELECT state FROM deliveries") == ["sending"])
        }
    }
}
