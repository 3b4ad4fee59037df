package import ServiceRuntime
package import Store
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

    init(context: SchedulerContext, interval: Duration) {
        book = ClaimantBook(pool: context.pool)
        time = context.time
        logger = context.logger.labelled("claimants")
        loop = context.loop(
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

/// Proves that a process with claims is alive, so that schedulers detect its end.
///
/// It writes a heartbeat every five seconds, and holds a lock in a dedicated session, which the server ends with the
/// process. During a drain it writes no heartbeat; the lock lasts until the process ends.
package final class ClaimantHeartbeat: Service {
    package let name = "claimant"
    /// The identity of this process in its claims.
    package var claimant: Claimant { Claimant(number: session.number) }
    private let book: ClaimantBook
    private let session: ClaimantSession
    private let logger: Logger

    /// Creates the heartbeat of a process that is registered by `session`.
    package init(book: ClaimantBook, session: ClaimantSession, logger: Logger) {
        self.book = book
        self.session = session
        self.logger = logger.labelled(name)
    }

    package func run(until drain: DrainSignal) async throws {
        var beats: Int64 = 0
        while !drain.isDraining, !Task.isCancelled {
            beats += 1
            do throws(StoreError) {
                try await book.beat(session.number, beats)
                await drain.pause(for: Self.interval)
            } catch {
                logger.debug("the heartbeat cannot be written", ["error": .error(error)])
                await drain.pause(for: .seconds(1))
            }
        }
    }

    /// Ends the session and thus releases the lock.
    package func close() {
        session.close()
    }

    private static let interval = Duration.seconds(5)
}

/// The dead claimants, as observed by one scheduler on its steady clock.
///
/// A claimant is dead if its lock is free and it has written no heartbeat for ``patience``. One condition alone does
/// not suffice. A server restart, a failover or a pooler ends sessions of live processes, and a process that cannot
/// write for a moment is not dead. A failed or late poll starts the period again.
struct DeadClaimants: Sendable {
    private struct Record {
        var beats: Int64
        var since: ContinuousClock.Instant
        var diedAt: ContinuousClock.Instant?
    }

    private var records: [Int64: Record] = [:]
    private var lookedAt: ContinuousClock.Instant?

    /// More than two heartbeats.
    static let patience = Duration.seconds(12)
    /// The longest gap between two polls.
    ///
    /// A scheduler that was suspended, possibly with its whole machine, has observed nothing meanwhile.
    static let longestGap = Duration.seconds(10)
    /// The period for which dead claimants are remembered.
    ///
    /// It is longer than any lease and the release of their claims.
    static let memory = Duration.seconds(3600)

    /// The dead claimants, by their numbers in the database.
    var numbers: [Int64] { records.filter { $0.value.diedAt != nil }.map(\.key) }

    /// Returns the dead claimants of which no claim can remain.
    func forgotten(at now: ContinuousClock.Instant) -> [Int64] {
        records.filter { $0.value.diedAt.map { now - $0 > Self.memory } ?? false }.map(\.key)
    }

    /// Adds the result of a poll, and returns whether a claimant has died since the last one.
    mutating func see(_ sightings: [ClaimantBook.Sighting], at now: ContinuousClock.Instant) -> Bool {
        let isLate = lookedAt.map { now - $0 > Self.longestGap } ?? true
        lookedAt = now
        var seen: [Int64: Record] = [:]
        var hasNews = false
        for sighting in sightings {
            var record = records[sighting.number] ?? Record(beats: sighting.beats, since: now)
            if record.beats != sighting.beats { record = Record(beats: sighting.beats, since: now) }
            if record.diedAt == nil {
                if isLate || !sighting.isUnlocked { record.since = now }
                if now - record.since >= Self.patience {
                    record.diedAt = now
                    hasNews = true
                }
            }
            seen[sighting.number] = record
        }
        records = seen
        return hasNews
    }

    /// Notes a failed poll.
    mutating func miss() {
        lookedAt = nil
    }
}
