package import ServiceRuntime
package import Settings
package import Store
import Synchronization

/// Writes the process's heartbeat every ten seconds.
///
/// It writes one within a second if the process's catalogues, a rejected reload, the reason why it takes no messages, the
/// holds or the open breakers that it observes have changed, and after a write that failed.
///
/// Operators thus see all processes of an installation, wherever they run. A process that has just become ready is not
/// reported as unready for the rest of the interval. A process writes at most one heartbeat per second.
///
/// A process that drains still works, so it continues to write heartbeats, marked as draining, until it ends.
///
/// Thread safety: the task that writes during the drain is behind a lock.
package final class HeartbeatDuty: FinalizingService {
    package let name = "roll call"
    private let book: HeartbeatStore
    private let identity: Heartbeat.Identity
    private let source: CatalogSource
    private let logger: Logger
    private let interval: Duration
    private let hindrance: @Sendable () -> String?
    private let holds: (@Sendable () -> [Int64])?
    private let breakers: @Sendable () -> [BreakerKey]
    private let fill: @Sendable (inout Heartbeat) -> Void
    private let drain = Mutex(Drain())

    private struct Drain {
        /// The task that writes heartbeats during the drain; `nil` before.
        var lingering: Task<Void, Never>?
        var isOver = false
    }

    /// Creates a heartbeat.
    ///
    /// `hindrance` returns the reason why the process takes no messages, `nil` if there is none. It is called every
    /// second, like `holds` and `breakers`, which return the holds and the open breakers that a worker observes. `fill`
    /// adds the fields that only this kind of process has.
    package init(
        _ identity: Heartbeat.Identity,
        book: HeartbeatStore,
        source: CatalogSource,
        logger: Logger,
        interval: Duration = usualInterval,
        hindrance: @escaping @Sendable () -> String? = { nil },
        holds: (@Sendable () -> [Int64])? = nil,
        breakers: @escaping @Sendable () -> [BreakerKey] = { [] },
        fill: @escaping @Sendable (inout Heartbeat) -> Void = { _ in }
    ) {
        self.identity = identity
        self.book = book
        self.source = source
        self.logger = logger.labelled(name)
        self.interval = interval
        self.hindrance = hindrance
        self.holds = holds
        self.breakers = breakers
        self.fill = fill
    }

    package static let usualInterval = Duration.seconds(10)

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            // The state is read before the write, so that a change during the write is reported next.
            let told = news
            let isWritten = await say()
            // After an outage of the database, operators must not see a silence that is over.
            await rest(for: isWritten ? interval : min(interval, Self.retryInterval), having: told, until: drain)
        }
        self.drain.withLock { drain in
            guard !drain.isOver else { return }
            drain.lingering = Task { [self] in
                while !Task.isCancelled {
                    await say(isDraining: true)
                    try? await Task.sleep(for: min(interval, Self.drainInterval))
                }
            }
        }
    }

    /// Deletes the process's entry, unless it has left work behind.
    ///
    /// A process without an entry writes nothing; entries of other ended processes expire.
    ///
    /// It is interrupted after two seconds: an unresponsive database must not delay the end of the process, and the
    /// entry expires anyway.
    package func sayLastWords(leavingNothing: Bool) async {
        guard leavingNothing else { return }
        let lingering = drain.withLock { drain in
            drain.isOver = true
            return drain.lingering
        }
        lingering?.cancel()
        let leaving = Task { [book, identity] in
            // No heartbeat may follow the deletion.
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

    private static let retryInterval = Duration.seconds(1)

    /// A process that drains still sends, so that an operator waits for it to observe a hold.
    private static let drainInterval = Duration.seconds(1)

    /// Waits until the next heartbeat is due.
    ///
    /// An operator who has sent a SIGHUP or started the process will check the result soon.
    private func rest(for interval: Duration, having told: HeartbeatChange, until drain: DrainSignal) async {
        var rested = Duration.zero
        while rested < interval, news == told {
            guard !drain.isDraining, !Task.isCancelled else { return }
            let step = min(interval - rested, .seconds(1))
            await drain.pause(for: step)
            rested += step
        }
    }

    /// The fields whose changes are reported immediately.
    private struct HeartbeatChange: Equatable {
        let catalogs: String
        let refusal: String?
        /// The text without its numbers, because the duration in it grows every second.
        let hindrance: String?
        let holds: [Int64]?
        /// The answers from before a breaker closed no longer describe the provider.
        let breakers: Set<BreakerKey>
    }

    private var news: HeartbeatChange {
        HeartbeatChange(
            catalogs: source.current.fingerprint,
            refusal: source.refusal,
            hindrance: hindrance()?.filter { !$0.isNumber },
            holds: holds?(),
            breakers: Set(breakers())
        )
    }

    /// Writes a heartbeat, and returns whether it is written.
    @discardableResult
    private func say(isDraining: Bool = false) async -> Bool {
        var report = Heartbeat(identity, catalogs: source.current.fingerprint)
        report.refusal = source.refusal
        report.hindrance = hindrance()
        report.isDraining = isDraining
        report.holds = holds?()
        fill(&report)
        do throws(StoreError) {
            try await book.announce(report)
            return true
        } catch {
            logger.debug("cannot write the heartbeat", ["error": .error(error)])
            return false
        }
    }
}
