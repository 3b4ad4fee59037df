import ServiceRuntime
import Store
import Synchronization

/// Detects dead claimants, so that their deliveries are released without waiting for them.
///
/// Thread safety: the findings are behind a lock.
final class ClaimantWatch: Sendable {
    /// The state on which a release depends.
    struct Findings: Sendable {
        /// The numbers of dead claimants, as claims contain them.
        var dead: [Int64] = []
        /// A counter that increases when claimants die.
        var deaths = 0
    }

    private let book: ClaimantBook
    private let time: any TimeSource
    private let logger: Logger
    private let loop: DutyLoop
    private let findings = Mutex(Findings())

    init(tools: SchedulerContext, interval: Duration) {
        book = ClaimantBook(pool: tools.pool)
        time = tools.time
        logger = tools.logger.labelled("claimants")
        loop = tools.loop(
            of: "claimants",
            every: interval,
            trouble: "the database cannot be asked which workers are alive"
        )
    }

    var current: Findings { findings.withLock { $0 } }

    func run(until drain: DrainSignal) async {
        var dead = DeadClaimants()
        await loop.run(until: drain) {
            try await look(&dead)
            return .later
        }
    }

    private func look(_ dead: inout DeadClaimants) async throws(StoreError) {
        let known = dead.numbers
        let sightings: [ClaimantBook.Sighting]
        do throws(StoreError) {
            sightings = try await book.sightings(knowing: known)
        } catch {
            dead.miss()
            throw error
        }
        let hasNews = dead.see(sightings, at: time.steady())
        let numbers = dead.numbers
        findings.withLock { findings in
            if hasNews { findings.deaths += 1 }
            findings.dead = numbers.map { Claimant(number: $0).number }
        }
        if hasNews { tell(numbers, known) }
        try await book.forget(dead.forgotten(at: time.steady()))
    }

    private func tell(_ dead: [Int64], _ known: [Int64]) {
        let news = Set(dead).subtracting(known).sorted()
        logger.notice(
            "workers have ended, what they had claimed is released when their leases end",
            ["claimants": .text(news.map(String.init).joined(separator: ","))]
        )
    }
}
