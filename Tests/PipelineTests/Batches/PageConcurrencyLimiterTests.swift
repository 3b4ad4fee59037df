import BellhopRules
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Pages of fan-outs while urgent messages arrive", .timeLimit(.ofTest))
struct PageConcurrencyLimiterTests {
    /// A host whose steady clock the test sets.
    private final class SteadyHost: TimeSource {
        private let start = ContinuousClock.now
        private let passed = Mutex(Duration.zero)

        func now() -> Instant { .epoch }

        func steady() -> ContinuousClock.Instant { start + passed.withLock { $0 } }

        func advance(by span: Duration) { passed.withLock { $0 += span } }
    }

    /// Pages that run until they are released.
    private final class Pages: Sendable {
        private let limiter: PageConcurrencyLimiter
        private let running = Mutex<[DrainSignal]>([])
        private let left = Mutex(0)

        init(_ limiter: PageConcurrencyLimiter) { self.limiter = limiter }

        var count: Int { running.withLock(\.count) }
        /// The number of pages that have given back their place.
        var ended: Int { left.withLock { $0 } }

        func run(in lane: Lane) async {
            let end = DrainSignal()
            await limiter.pass(lane) {
                running.withLock { $0.append(end) }
                await end.wait()
            }
            left.withLock { $0 += 1 }
        }

        func release() { running.withLock { $0.removeFirst() }.fire() }
    }

    private let host = SteadyHost()
    private let limiter: PageConcurrencyLimiter
    private let pages: Pages

    init() {
        limiter = PageConcurrencyLimiter(time: host)
        pages = Pages(limiter)
    }

    /// Starts pages, and expects so many to run and the others to wait.
    private func expect(_ running: Int, of count: Int, in lane: Lane) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { [pages] in await pages.run(in: lane) } }
            try await self.await(running, waiting: count - running, in: lane)
            for left in stride(from: count, to: 0, by: -1) {
                pages.release()
                let next = min(running, left - 1)
                try await self.await(next, waiting: left - 1 - next, in: lane)
            }
            try await group.waitForAll()
        }
    }

    private func await(_ running: Int, waiting: Int, in lane: Lane) async throws {
        try await eventually("\(running) pages run and \(waiting) wait in lane \(lane)") {
            pages.count == running && limiter.limiters[lane]?.waiting == waiting
        }
    }

    @Test("two pages of a lane are processed at a time", arguments: Lane.allCases)
    func two(lane: Lane) async throws {
        try await expect(2, of: 4, in: lane)
    }

    @Test("messages of other lanes change nothing", arguments: [Lane.normal, .bulk])
    func others(lane: Lane) async throws {
        limiter.noteMessages(of: lane)
        try await expect(2, of: 3, in: .normal)
    }

    @Test(
        "for a second after an urgent message, pages of the other lanes are processed one at a time",
        arguments: [Lane.normal, .bulk]
    )
    func one(lane: Lane) async throws {
        limiter.noteMessages(of: .urgent)
        host.advance(by: .milliseconds(999))
        try await expect(1, of: 3, in: lane)
        host.advance(by: .milliseconds(1))
        try await expect(2, of: 3, in: lane)
    }

    @Test("pages of the urgent lane keep both places")
    func urgent() async throws {
        limiter.noteMessages(of: .urgent)
        try await expect(2, of: 3, in: .urgent)
    }

    @Test("pages that run when an urgent message arrives go on, and the first that ends is not replaced")
    func arrival() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { [pages] in await pages.run(in: .normal) } }
            try await self.await(2, waiting: 2, in: .normal)
            limiter.noteMessages(of: .urgent)
            #expect(pages.count == 2)
            pages.release()
            try await eventually("the first page has ended") { pages.ended == 1 }
            try await self.await(1, waiting: 2, in: .normal)
            host.advance(by: .seconds(1))
            pages.release()
            try await self.await(2, waiting: 0, in: .normal)
            pages.release()
            pages.release()
            try await group.waitForAll()
        }
    }
}
