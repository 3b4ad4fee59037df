import BellhopRules
import Store
import TestSupport
import Testing
import Workbench

@Suite(
    "Shared breakers",
    .inTurn,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct BreakerStoreTests {
    private static func key(_ platform: DevicePlatform? = nil) throws -> BreakerKey {
        BreakerKey(app: try #require(AppID(validating: "drop")), provider: "fcm", platform: platform)
    }

    /// Returns the rest of a pause that began at `began` or later, less a millisecond, because the table rounds to
    /// milliseconds.
    private static func rest(of seconds: Int, since began: ContinuousClock.Instant) -> Duration {
        .seconds(seconds) - began.duration(to: .now) - .milliseconds(1)
    }

    @Test("an open breaker is stored with its reason and its platform, and opens only once")
    func opening() async throws {
        try await Bench.withSchema { bench in
            let book = WorkerStore(pool: bench.pool)
            let (all, ios) = (try Self.key(), try Self.key(.ios))
            let began = ContinuousClock.now
            try await book.open(all, reason: "PERMISSION_DENIED")
            try await book.open(all, reason: "token-refused")
            try await book.open(ios, reason: "THIRD_PARTY_AUTH_ERROR")
            let open = try await book.openBreakers()
            #expect(open.map(\.key) == [all, ios])
            #expect(open.map(\.reason) == ["PERMISSION_DENIED", "THIRD_PARTY_AUTH_ERROR"])
            let soonest = Self.rest(of: 10, since: began)
            #expect(open.allSatisfy { $0.probeIn >= soonest && $0.probeIn <= .seconds(10) && $0.failures == 0 })
            #expect(try await book.close(all))
            #expect(try await !book.close(all))
            #expect(try await book.openBreakers().map(\.key) == [ios])
        }
    }

    @Test("of many workers that request a probe, one gets it")
    func oneProbe() async throws {
        try await Bench.withSchema { bench in
            let book = WorkerStore(pool: bench.pool, firstPause: .zero)
            let key = try Self.key()
            try await book.open(key, reason: "certificate")
            let answers = try await withThrowingTaskGroup(of: ProbeClaim.self) { group in
                for _ in 0..<12 { group.addTask { try await book.knock(key) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0 == .mayProbe } == 1)
            #expect(answers.count { if case .later = $0 { true } else { false } } == 11)
        }
    }

    @Test("a returned probe goes to the next worker that requests one")
    func givenBack() async throws {
        try await Bench.withSchema { bench in
            let book = WorkerStore(pool: bench.pool, firstPause: .zero)
            let key = try Self.key()
            try await book.open(key, reason: "certificate")
            let first = try await book.knock(key)
            try await book.giveBackProbe(of: key)
            let second = try await book.knock(key)
            #expect([first, second] == [.mayProbe, .mayProbe])
            guard case .later = try await book.knock(key) else { throw BenchError("it was given twice") }
        }
    }

    @Test("each rejected probe doubles the pause, up to five minutes, and a closed breaker grants no probe")
    func pauses() async throws {
        try await Bench.withSchema { bench in
            let book = WorkerStore(pool: bench.pool)
            let key = try Self.key()
            try await book.open(key, reason: "certificate")
            guard case .later = try await book.knock(key) else {
                Issue.record("a probe was given before its time")
                return
            }
            for expected in [20, 40, 80, 160, 300, 300] {
                let began = ContinuousClock.now
                try await book.reopen(key, reason: "certificate")
                let wait = try #require(try await book.openBreakers().first).probeIn
                let shortest = Self.rest(of: expected, since: began)
                #expect(wait >= shortest && wait <= .seconds(expected))
            }
            try await book.reopen(key, reason: "mass-death", isTelling: false)
            #expect(try #require(try await book.openBreakers().first).probeIn <= .seconds(10))
            _ = try await book.close(key)
            #expect(try await book.knock(key) == .isClosed)
        }
    }

    @Test("no device of a provider is revoked by any worker during its mass failure, and afterwards it is")
    func massDeath() async throws {
        try await Bench.withSchema { bench in
            _ = try await bench.owner.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                    last_seen_at, source_time)
                VALUES ('drop', 'u1', 'sub_00000000000000a1', 'ios', 'fcm', 't1', '2026-01-01', '2026-01-01', '2026-01-01')
                """
            )
            let (book, revocations) = (WorkerStore(pool: bench.pool), WorkerStore(pool: bench.pool))
            let key = try Self.key()
            let dead = DeadDevice(
                recipient: UserKey(app: key.app, user: try #require(UserID(validating: "u1"))),
                subscription: "sub_00000000000000a1",
                token: try #require(DeviceToken(validating: "t1")),
                reason: "UNREGISTERED",
                deadSince: Timestamp(clamping: 1_780_000_000_000_000)
            )
            try await book.open(key, reason: OpenBreaker.massDeath)
            #expect(try await revocations.revoke([dead]) == 0)
            _ = try await book.close(key)
            try await book.open(key, reason: "PERMISSION_DENIED")
            #expect(try await revocations.revoke([dead]) == 1)
        }
    }
}
