import Postgres
package import ServiceRuntime
package import Store
import Synchronization

/// Says every ten seconds that this process runs, by which catalogues, and what troubles it, and within one where these
/// have changed; so that whoever looks at one installation sees all of its processes, wherever they are.
///
/// A process that drains still works: it goes on saying so, as one that drains, until it ends.
///
/// Thread safety: what speaks during the drain is behind a lock.
package final class RollCall: ServiceWithLastWords {
    package let name = "roll call"
    private let book: ProcessBook
    private let identity: ProcessReport.Identity
    private let source: CatalogSource
    private let logger: Logger
    private let interval: Duration
    private let fill: @Sendable (inout ProcessReport) -> Void
    private let drain = Mutex(Drain())

    private struct Drain {
        /// What says that the process still runs; nil before.
        var lingering: Task<Void, Never>?
        var isOver = false
    }

    /// `fill` adds what only this kind of process knows.
    package init(
        _ identity: ProcessReport.Identity,
        book: ProcessBook,
        source: CatalogSource,
        logger: Logger,
        interval: Duration = usualInterval,
        fill: @escaping @Sendable (inout ProcessReport) -> Void = { _ in }
    ) {
        self.identity = identity
        self.book = book
        self.source = source
        self.logger = logger.labelled(name)
        self.interval = interval
        self.fill = fill
    }

    package static let usualInterval = Duration.seconds(10)

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            // Before it is said: what changes while the database listens is not told yet.
            let told = news
            await say()
            await rest(having: told, until: drain)
        }
        self.drain.withLock { drain in
            guard !drain.isOver else { return }
            drain.lingering = Task { [self] in
                while !Task.isCancelled {
                    await say(isDraining: true)
                    try? await Task.sleep(for: interval)
                }
            }
        }
    }

    /// Strikes the process off, unless it has left work behind.
    ///
    /// Who is off the roll writes nothing any more; the others it forgets by itself.
    ///
    /// Interrupted after two seconds: a database that does not answer must not hold up the end, and forgets who is silent.
    package func sayLastWords(leavingNothing: Bool) async {
        guard leavingNothing else { return }
        let lingering = drain.withLock { drain in
            drain.isOver = true
            return drain.lingering
        }
        lingering?.cancel()
        let leaving = Task { [book, identity] in
            // No word must come behind the last one.
            await lingering?.value
            try? await book.leave(identity.id)
        }
        let timer = Task {
            if (try? await Task.sleep(for: Self.patience)) != nil { leaving.cancel() }
        }
        await leaving.value
        timer.cancel()
    }

    private static let patience = Duration.seconds(2)

    /// Until there is something to say again: somebody who has sent a SIGHUP is about to ask what came of it.
    private func rest(having told: News, until drain: DrainSignal) async {
        var rested = Duration.zero
        while rested < interval, news == told {
            guard !drain.isDraining, !Task.isCancelled else { return }
            let step = min(interval - rested, .seconds(1))
            await drain.pause(for: step)
            rested += step
        }
    }

    /// What is said at once when it changes.
    private struct News: Equatable {
        let catalogs: String
        let refusal: String?
    }

    private var news: News { News(catalogs: source.current.fingerprint, refusal: source.refusal) }

    private func say(isDraining: Bool = false) async {
        var report = ProcessReport(identity, catalogs: source.current.fingerprint)
        report.refusal = source.refusal
        report.isDraining = isDraining
        fill(&report)
        do throws(PostgresError) {
            try await book.announce(report)
        } catch {
            logger.debug("cannot write the heartbeat", ["error": .error(error)])
        }
    }
}
