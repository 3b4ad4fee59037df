import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import Settings
import Store
import TestSupport

/// The part of a ``StatementCoverage`` for dead letters and replays.
struct DeadLetterStatementCoverage {
    let servers: ServerFixture
    let pool: PostgresPool
    let round: Int

    private func name(_ what: String) -> String { "tour\(round)-\(what)" }

    func run() async throws {
        try await letters()
        try await replay()
        let app = try StatementCoverage.identifier(AppID(validating: "drop"))
        _ = try await DeadLetterStatistics(of: pool, apps: [app])
        _ = try await FanoutStatistics(of: pool, most: 100)
        _ = try await BacklogAges(of: pool)
        guard let retention = DeadLetterRetention("30d") else { throw ServerFixtureError("no retention") }
        let retirement = DeadLetterRetentionStore(pool: pool, retention: retention)
        _ = try await retirement.deleteBatch()
        try await retirement.forgetReplays()
    }

    private func letters() async throws {
        let file = DeadLetterStore(pool: pool)
        let key = try DeadLetterSamples.key(user: name("1"), event: "tour\(round)")
        _ = try await file.file([DeadLetterSamples.delivery(key, attempts: 2)])
        _ = try await file.file([DeadLetterSamples.delivery(key, attempts: 3), letter("first"), letter("second")])
        // It was redelivered before it failed: it may be a copy of a stored dead letter.
        var copy = letter("copy")
        copy.redelivered = true
        copy.contentHash = Array(name("first").utf8)
        _ = try await file.file([copy])
        // The filer receives it before its predecessor.
        var late = letter("late")
        late.attempts = 2
        _ = try await file.file([late])
        var overtaken = letter("overtaken")
        overtaken.contentHash = late.contentHash
        overtaken.failedAt = DeadLetterSamples.ago(3600)
        _ = try await file.file([overtaken])
    }

    private func letter(_ what: String) -> DeadLetterItem {
        DeadLetterSamples.rejected(name(what), user: name("1"))
    }

    private func replay() async throws {
        let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin))
        let id: Int64
        do {
            id = try await start(ReplayAdmin(pool: admin))
        } catch {
            await admin.close()
            throw error
        }
        await admin.close()
        let run = ReplayStore(pool: pool, runner: "tour", horizon: PipelineFixture.horizon)
        _ = try await run.take(for: .seconds(60))
        let pieces = try await run.next(of: id, atMost: 10)
        try await run.markSent(pieces.filter { $0.message != nil }.map(\.position), of: id)
        _ = try await run.send(deliveries: pieces.filter { $0.message == nil }.map(\.position), of: id)
        _ = try await run.unclaimed(of: id)
        _ = try await run.load(of: id)
        try await run.setRamp(1, of: id)
        try await again(pieces[0].deadID, in: id)
        try await WorkerStore(pool: pool).report(
            pieces.dropFirst().map { piece in
                ReplayReport(
                    DeadLetterItem.ReplayMark(item: piece.deadID, replay: id, round: piece.round),
                    .recorded
                )
            }
        )
        try await run.settle(unsendable: [pieces[0].position], of: id, why: "a tour")
        _ = try await run.collect(of: id, atMost: 10)
        _ = try await run.pauseIfFailing(id, least: 1)
        _ = try await run.finish(id)
        try await run.release()
    }

    /// Stores the dead letter of a replayed message that fails again.
    private func again(_ item: String, in replay: Int64) async throws {
        var letter = letter("again")
        letter.replay = DeadLetterItem.ReplayMark(item: item, replay: replay, round: 1)
        _ = try await DeadLetterStore(pool: pool).file([letter])
    }

    private func start(_ book: ReplayAdmin) async throws -> Int64 {
        var filter = DeadLetterFilter()
        filter.user = name("1")
        let limits = ReplayLimits(perItem: 5, failedSince: DeadLetterSamples.ago(86_400))
        let outcome = try await book.start(
            ReplayOrder(filter, limits: limits, pace: .init()),
            agreed: 100,
            by: ActingOperator(name: "ada", because: "a tour")
        )
        guard case .started(let id, _) = outcome else { throw ServerFixtureError("no replay was started: \(outcome)") }
        return id
    }
}
