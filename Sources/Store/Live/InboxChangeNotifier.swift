import BellhopRules
import Postgres
package import ServiceRuntime
import Synchronization

/// Notifies processes with open streams of inbox changes.
///
/// It runs separately from the batches with the changes and after their commit. PostgreSQL commits only one transaction
/// with a `NOTIFY` at a time, and no batch must wait for another because of a stream. Without listeners, a batch only
/// checks a flag.
package final class InboxChangeNotifier: FinalizingService {
    package let name = "live announcements"
    private let book: ListenerStore
    private let rhythm: Rhythm
    private let chance: RandomSource
    private let logger: Logger
    private let announced: Counter
    private let hearing = Mutex(Hearing())
    private let pending = Mutex(Pending())
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation

    /// The interval between polls for listeners, the time for which changes are gathered, and their maximum number.
    package struct Rhythm: Sendable {
        package var look: Duration
        package var gather: Duration
        package var most: Int

        package init(look: Duration = .seconds(1), gather: Duration = .milliseconds(100), most: Int = 200_000) {
            self.look = look
            self.gather = gather
            self.most = most
        }
    }

    /// Whether listeners exist, and the number of expectations.
    private struct Hearing {
        var isHeard = false
        var expectations = 0
    }

    /// The changes to announce.
    private struct Pending {
        var signs: Set<UserHash> = []
        /// Whether there were too many changes to keep, so that all users are announced.
        var isEverybody = false

        mutating func add(_ more: some Sequence<UserHash>, atMost most: Int) {
            guard !isEverybody else { return }
            signs.formUnion(more)
            guard signs.count > most else { return }
            self = Pending(isEverybody: true)
        }
    }

    package init(
        book: ListenerStore,
        rhythm: Rhythm = Rhythm(),
        chance: RandomSource = .system,
        logger: Logger,
        metrics: MetricsRegistry
    ) {
        self.book = book
        self.rhythm = rhythm
        self.chance = chance
        self.logger = logger
        announced = metrics.counter(
            "bellhop_live_announcements_total",
            help: "Inbox changes announced to listeners."
        )
        (bell, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Gathers the users whose inboxes have changed; the changes must be committed.
    package func changed(_ recipients: some Sequence<UserKey>) {
        guard hearing.withLock({ $0.isHeard }) else { return }
        let signs = recipients.map(UserHash.init)
        guard !signs.isEmpty else { return }
        gather(signs)
        ring.yield()
    }

    /// Assumes listeners from now on, whatever the result of a poll that has begun.
    package func expectListeners() {
        hearing.withLock { hearing in
            hearing.isHeard = true
            hearing.expectations += 1
        }
    }

    package func run(until drain: DrainSignal) async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.look(until: drain) }
            group.addTask { await self.tell(until: drain) }
            group.addTask {
                await drain.wait()
                self.ring.yield()
            }
        }
    }

    /// Announces the remaining changes after the services that change inboxes have ended, which is after
    /// ``run(until:)``.
    package func flush() async {
        do {
            try await announce()
        } catch {
            logger.warning("inbox change notifications are delayed", ["error": .error(error)])
        }
    }

    package func sayLastWords(leavingNothing: Bool) async { await flush() }

    private func look(until drain: DrainSignal) async {
        let loop = DutyLoop(
            interval: rhythm.look,
            trouble: "cannot read listeners",
            chance: chance,
            logger: logger
        )
        await loop.run(until: drain) {
            let expectations = hearing.withLock { $0.expectations }
            let isHeard = try await book.isHeard()
            hearing.withLock { hearing in
                // The poll may have begun before an expected listener was registered.
                if hearing.expectations == expectations { hearing.isHeard = isHeard }
            }
            return .later
        }
    }

    /// Announces changes in a loop.
    ///
    /// Changes during an announcement, and shortly after it, belong to the next one.
    private func tell(until drain: DrainSignal) async {
        var backoff = Backoff(base: .seconds(1), cap: .seconds(5))
        var chance = chance
        for await _ in bell {
            do {
                try await announce()
                backoff.reset()
            } catch {
                let pause = backoff.next(using: &chance)
                logger.warning("inbox change notifications are delayed", ["error": .error(error)])
                await drain.pause(for: pause)
                ring.yield()
            }
            if drain.isDraining { return }
            await drain.pause(for: rhythm.gather)
        }
    }

    /// Announces the gathered changes, and keeps them after an error.
    private func announce() async throws(PostgresError) {
        let gathered = pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
        do throws(PostgresError) {
            if gathered.isEverybody {
                try await book.announceEverybody()
            } else {
                try await book.announce(gathered.signs)
            }
        } catch {
            pending.withLock { pending in
                if gathered.isEverybody { pending = gathered } else { pending.add(gathered.signs, atMost: rhythm.most) }
            }
            throw error
        }
        announced.increment(by: gathered.isEverybody ? 1 : gathered.signs.count)
    }

    private func gather(_ signs: some Sequence<UserHash>) {
        pending.withLock { $0.add(signs, atMost: rhythm.most) }
    }
}
