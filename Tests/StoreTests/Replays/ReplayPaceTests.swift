import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "The pace of replays",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ReplayPaceTests {
    /// A replay of a hundred items, none of which is settled.
    private struct Fixture: Sendable {
        let servers: ServerFixture
        let admin: ReplayAdmin
        let id: Int64
        /// The time of the test.
        ///
        /// It is ahead of the database's clock, so that the items of the last minutes were
        /// settled lately however long the test takes.
        let now: Timestamp

        func run(_ statement: String) async throws {
            _ = try await servers.owner.run(Statement(statement), [])
        }

        /// Settles the items up to `last`, evenly between `from` and `to` seconds ago.
        func settle(_ items: ClosedRange<Int>, from: Int, to: Int) async throws {
            let share = "(position - \(items.lowerBound)) / \(items.count).0"
            let passed = "\(from) - \(from - to) * \(share)"
            try await run(
                """
                UPDATE replay_items SET state = 'settled', outcome = 'recorded',
                    settled_at = '\(now)'::timestamptz - (\(passed)) * interval '1 s'
                WHERE position BETWEEN \(items.lowerBound) AND \(items.upperBound)
                """
            )
        }

        func progress() async throws -> ReplayProgress {
            try #require(try await admin.progress(of: id))
        }
    }

    /// Runs a test with a replay that began an hour ago.
    private static func with(_ body: (Fixture) async throws -> Void) async throws {
        try await ServerFixture.withSchema { servers in
            let letters = (1...100).map { DeadLetterSamples.rejected("l\($0)") }
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            let admin = ReplayAdmin(pool: servers.owner)
            let limits = ReplayLimits(perItem: 5, failedSince: DeadLetterSamples.ago(86_400))
            let order = ReplayOrder(DeadLetterFilter(), limits: limits, pace: .init())
            let ada = ActingOperator(name: "ada", because: "a test")
            guard case .started(let id, 100) = try await admin.start(order, agreed: 100, by: ada) else {
                throw ServerFixtureError("the replay did not begin")
            }
            let ahead = Statement("SELECT now() + interval '10 min'", effect: .reads)
            let now = try await servers.owner.run(ahead, []).moment(0, 0)
            let fixture = Fixture(servers: servers, admin: admin, id: id, now: now)
            let begun = "'\(now)'::timestamptz - interval '1 h'"
            try await fixture.run("UPDATE replays SET started_at = \(begun), resumed_at = \(begun)")
            try await body(fixture)
        }
    }

    @Test("the time left follows from the items settled lately, not from the time since the beginning")
    func timeLeft() async throws {
        try await Self.with { fixture in
            try await fixture.settle(1...20, from: 3_600, to: 3_000)
            try await fixture.settle(21...50, from: 15, to: 0)
            let progress = try await fixture.progress()
            #expect(progress.settledLately == 30)
            let left = try #require(progress.timeLeft(at: fixture.now))
            #expect(left == .seconds(50))
            #expect(progress.standstill(at: fixture.now) == nil)
            // A rate that was lowered just now limits the coming items.
            try await fixture.run("UPDATE replays SET rate = 1, started_at = now() - interval '2 h'")
            let slower = try await fixture.progress().timeLeft(at: fixture.now)
            #expect(slower == .seconds(50))
            try await fixture.settle(51...80, from: 15, to: 0)
            let least = try await fixture.progress().timeLeft(at: fixture.now)
            #expect(least == .seconds(20))
        }
    }

    @Test("after an interruption the pace counts from the resume")
    func resumed() async throws {
        try await Self.with { fixture in
            try await fixture.settle(1...50, from: 5, to: 0)
            try await fixture.run("UPDATE replays SET resumed_at = '\(fixture.now)'::timestamptz - interval '6 s'")
            let left = try await fixture.progress().timeLeft(at: fixture.now)
            #expect(left == .seconds(6))
        }
    }

    @Test("a replay without outcomes for some seconds has a standstill in place of a time left")
    func standstill() async throws {
        try await Self.with { fixture in
            try await fixture.settle(1...50, from: 20, to: 8)
            let progress = try await fixture.progress()
            let still = try #require(progress.standstill(at: fixture.now))
            #expect(still >= .seconds(8) && still < .seconds(9))
            #expect(progress.timeLeft(at: fixture.now) == nil)
        }
    }

    @Test("a replay that is paused, that has not begun, or of which nothing is left, has no standstill")
    func idle() async throws {
        try await Self.with { fixture in
            let early = try await fixture.progress().standstill(at: fixture.now)
            #expect(early == .seconds(3_600))
            try await fixture.run("UPDATE replays SET not_before = now() + interval '1 day'")
            let scheduled = try await fixture.progress()
            #expect(scheduled.standstill(at: fixture.now) == nil)
            #expect(scheduled.timeLeft(at: fixture.now) == nil)
            try await fixture.run("UPDATE replays SET not_before = NULL, state = 'paused'")
            let paused = try await fixture.progress()
            #expect(paused.standstill(at: fixture.now) == nil)
            try await fixture.run("UPDATE replays SET state = 'running'")
            try await fixture.settle(1...100, from: 60, to: 50)
            let ended = try await fixture.progress()
            #expect(ended.standstill(at: fixture.now) == nil)
        }
    }
}
