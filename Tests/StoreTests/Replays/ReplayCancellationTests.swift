import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Cancelled replays",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ReplayCancellationTests {
    private static let ada = ActingOperator(name: "ada", because: "a test")

    /// One replay of two rejected messages, which this test runs; the first message has been published.
    private struct Fixture: Sendable {
        let servers: ServerFixture
        let book: ReplayAdmin
        let run: ReplayStore

        static func with(_ body: (Fixture, _ replay: Int64, _ round: Int) async throws -> Void) async throws {
            try await ServerFixture.withSchema { servers in
                let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin))
                let run = ReplayStore(pool: servers.pool, runner: "test", horizon: PipelineFixture.horizon)
                let fixture = Fixture(servers: servers, book: ReplayAdmin(pool: admin), run: run)
                let result: Result<Void, any Error>
                do {
                    _ = try await DeadLetterStore(pool: servers.pool).file([
                        DeadLetterSamples.rejected("a"), DeadLetterSamples.rejected("b"),
                    ])
                    let id = try await fixture.start()
                    let round = try await fixture.sendOne(of: id)
                    result = .success(try await body(fixture, id, round))
                } catch { result = .failure(error) }
                await admin.close()
                try result.get()
            }
        }

        func start() async throws -> Int64 {
            let limits = ReplayLimits(perItem: 5, failedSince: DeadLetterSamples.ago(86_400))
            let outcome = try await book.start(
                ReplayOrder(DeadLetterFilter(), limits: limits, pace: .init()),
                agreed: 10,
                by: ReplayCancellationTests.ada
            )
            guard case .started(let id, _) = outcome else {
                throw ServerFixtureError("the replay did not begin: \(outcome)")
            }
            return id
        }

        /// Publishes one message and returns its round.
        func sendOne(of id: Int64) async throws -> Int {
            _ = try await run.take(for: .seconds(600))
            let next = try await run.next(of: id, atMost: 1)
            try await run.markSent(next.map(\.position), of: id)
            return try #require(next.first).round
        }

        func items() async throws -> [String?] {
            try await servers.column(
                "SELECT concat_ws('|', dead_id, state, deaths, replays, resolution) FROM dead_letters ORDER BY dead_id"
            )
        }
    }

    @Test("a published message without a report does not block a cancelled replay and is open again")
    func lost() async throws {
        try await Fixture.with { fixture, id, round in
            let isOver = try await fixture.run.finish(id)
            #expect(!isOver)
            let didCancel = try await fixture.book.control(id, .cancel, by: Self.ada)
            #expect(didCancel)
            let progress = try #require(try await fixture.book.progress(of: id))
            #expect(progress.outcomes == [.unknown: 1, .cancelled: 1])
            let items = try await fixture.items()
            #expect(items == ["a|open|1|1", "b|open|1|0"])
            let isOverNow = try await fixture.run.finish(id)
            #expect(isOverNow)
            // Another replay can start, and the results of the first can be told apart by the round.
            let again = try await fixture.start()
            let next = try await fixture.sendOne(of: again)
            #expect(next == round + 1)
        }
    }

    @Test("a late report resolves the open item, and the replay counts its outcome")
    func lateReport() async throws {
        try await Fixture.with { fixture, id, round in
            _ = try await fixture.book.control(id, .cancel, by: Self.ada)
            let mark = DeadLetterItem.ReplayMark(item: "a", replay: id, round: round)
            let store = WorkerStore(pool: fixture.servers.pool)
            try await store.report([.init(mark, .recorded)])
            let items = try await fixture.items()
            #expect(items == ["a|resolved|1|1|recorded", "b|open|1|0"])
            // The second was published, and the cancellation came before it was noted as sent.
            try await store.report([.init(DeadLetterItem.ReplayMark(item: "b", replay: id, round: 1), .recorded)])
            let progress = try #require(try await fixture.book.progress(of: id))
            #expect(progress.outcomes == [.recorded: 2] && progress.left == 0)
            let both = try await fixture.items()
            #expect(both == ["a|resolved|1|1|recorded", "b|resolved|1|1|recorded"])
        }
    }
}
