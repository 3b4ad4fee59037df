import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Pages of large dead letters",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct PageBytesTests {
    /// Two bodies of 3 MiB fit into a page; the body of 9 MiB exceeds every page.
    private static let letters = [3, 3, 3, 9, 1].enumerated().map { number, size in
        DeadLetterSamples.rejected("l\(number)", body: String(repeating: "x", count: size << 20))
    }

    @Test("each page of dead letters holds as many as fit, and at least one")
    func admin() async throws {
        try await DeadLetterTable.with(Self.letters) { admin in
            var pages: [[String]] = []
            var last = ""
            while true {
                let page = try await admin.messages(DeadLetterFilter(), after: last, atMost: 200)
                guard let end = page.last else { break }
                last = end.summary.deadID
                pages.append(page.map(\.summary.deadID))
            }
            #expect(pages == [["l0", "l1"], ["l2"], ["l3"], ["l4"]])
            var some = DeadLetterFilter()
            some.limit = 2
            let limited = try await admin.messages(some, after: "", atMost: 200)
            #expect(limited.count <= 2)
        }
    }

    @Test("a replay takes as many dead letters at a time as fit")
    func replay() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await DeadLetterStore(pool: servers.pool).file(Self.letters)
            let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin))
            let limits = ReplayLimits(perItem: 5, failedSince: DeadLetterSamples.ago(86_400))
            let order = ReplayOrder(DeadLetterFilter(), limits: limits, pace: .init())
            let start = try await ReplayAdmin(pool: admin).start(
                order,
                agreed: 10,
                by: ActingOperator(name: "ada", because: "a test")
            )
            await admin.close()
            guard case .started(let id, _) = start else {
                throw ServerFixtureError("the replay did not begin: \(start)")
            }
            let run = ReplayStore(pool: servers.pool, runner: "test", horizon: PipelineFixture.horizon)
            _ = try await run.take(for: .seconds(60))
            var sizes: [Int] = []
            while true {
                let pieces = try await run.next(of: id, atMost: 250)
                guard !pieces.isEmpty else { break }
                sizes.append(pieces.reduce(0) { $0 + ($1.message?.body.count ?? 0) } >> 20)
                try await run.markSent(pieces.map(\.position), of: id)
            }
            #expect(sizes.reduce(0, +) == 19)
            let largest = sizes.max() ?? 0
            #expect(largest <= 9)
            #expect(sizes.count >= 3)
        }
    }
}
