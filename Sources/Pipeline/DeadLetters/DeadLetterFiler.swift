package import AMQP
import BellhopRules
package import ServiceRuntime
import Store
import Synchronization

/// Stores the messages of the dead-letter queue in the table of the dead-letter commands.
///
/// While the database is unavailable, the filer has no consumer, and the queue keeps the dead letters. Any number of
/// filers may work on it concurrently.
package struct DeadLetterFiler: Service {
    package let name = "dead-letter clerk"
    private let makeConsumer: @Sendable () -> Consumer
    private let pool: ConnectionPool
    private let file: DeadLetterStore
    private let time: any TimeSource
    private let chance: RandomSource
    private let logger: Logger
    private let filed: Counter
    private let names: TopologyNames
    private let current = FilerConsumer()
    private let untold = FiledTally()

    /// Whether dead letters can arrive, because there is a subscribed consumer.
    package var isReady: Bool { current.isConsuming }

    /// Creates a filer; `makeConsumer` returns a new consumer of the dead-letter queue, not yet started.
    package init(context: SchedulerContext, makeConsumer: @escaping @Sendable () -> Consumer) {
        self.makeConsumer = makeConsumer
        pool = context.pool
        time = context.time
        chance = context.chance
        logger = context.logger.labelled(name)
        names = context.names
        file = DeadLetterStore(pool: context.pool)
        filed = context.metrics.counter("bellhop_dead_letters_filed_total", help: "Dead letters filed into the table.")
    }

    package func run(until drain: DrainSignal) async throws {
        var backoff = Backoff(base: .milliseconds(100), cap: .seconds(5))
        var chance = chance
        while !drain.isDraining, !Task.isCancelled {
            if await pool.ping() {
                if await fileUntilTrouble(drain) { backoff.reset() }
            } else {
                logger.debug("database unavailable, dead letters stay in the queue")
            }
            guard !drain.isDraining else { break }
            try? await time.sleep(for: backoff.next(using: &chance))
        }
    }

    /// Runs one consumer until the drain, or until the database fails; unstored dead letters return to the queue.
    ///
    /// If the database fails on single dead letters, the others are stored for a few more seconds, and then all failed
    /// ones are redelivered.
    ///
    /// - Returns: Whether anything was stored.
    private func fileUntilTrouble(_ drain: DrainSignal) async -> Bool {
        var hasFiled = false
        var isLeavingSoon = false
        let consumer = makeConsumer()
        current.replace(by: consumer)
        defer { current.replace(by: nil) }
        consumer.start()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await drain.wait()
                consumer.stop()
            }
            group.addTask {
                while !drain.isDraining, !Task.isCancelled {
                    await drain.pause(for: Self.reportInterval)
                    tell()
                }
            }
            while let batch = await consumer.next(atMost: Self.batch, bytes: DeadLetterStore.pageBytes) {
                let filing = await file(batch)
                if !filing.done.isEmpty {
                    hasFiled = true
                    consumer.acknowledge(filing.done)
                    filed.increment(by: filing.new)
                    untold.add(filing.done.count, new: filing.new)
                }
                guard let failure = filing.failure else { continue }
                logger.warning(
                    "cannot store dead letters, leaving them in the queue",
                    ["count": .integer(batch.count - filing.done.count), "error": .error(failure)]
                )
                guard !filing.done.isEmpty else { break }
                if !isLeavingSoon { group.addTask { await leave(consumer) } }
                isLeavingSoon = true
            }
            group.cancelAll()
        }
        await consumer.close()
        tell()
        return hasFiled
    }

    /// Logs the dead letters since the last call in one line, if there were any.
    private func tell() {
        guard let filed = untold.take() else { return }
        logger.info("filed dead letters", ["count": .integer(filed.count), "new": .integer(filed.new)])
    }

    private func leave(_ consumer: Consumer) async {
        guard (try? await time.sleep(for: .seconds(5))) != nil else { return }
        consumer.stop()
    }

    /// A dead letter that is about to be stored.
    private struct Letter: Sendable {
        let tag: DeliveryTag
        let item: DeadLetterItem
    }

    /// The result of a batch of dead letters.
    private struct Filing: Sendable {
        var new = 0
        var done: [DeliveryTag] = []
        /// The reason why the others are not stored.
        var failure: StoreError?
        var attempts = 0

        /// Whether to divide further.
        ///
        /// It ends if 24 attempts have stored nothing, because the server then accepts nothing at all.
        var isWorthwhile: Bool { !done.isEmpty || attempts < 24 }
    }

    private func file(_ batch: [IncomingMessage]) async -> Filing {
        let now = time.timestamp
        let letters = batch.map { Letter(tag: $0.tag, item: DeadLetterParser.item(of: $0, at: now, names: names)) }
        var filing = Filing()
        await file(letters[...], into: &filing)
        return filing
    }

    /// Stores dead letters, in halves if the database rejects one or fails on it.
    ///
    /// Only the faulty one is then stored separately, or stays in the queue.
    private func file(_ letters: ArraySlice<Letter>, into filing: inout Filing) async {
        guard let first = letters.first else { return }
        filing.attempts += 1
        do throws(StoreError) {
            filing.new +=
                letters.count == 1 ? try await fileAlone(first.item) : try await file.file(letters.map(\.item))
            filing.done += letters.map(\.tag)
        } catch {
            guard letters.count > 1, error.refusesContent || error.mayBeAboutOneItem && filing.isWorthwhile else {
                filing.failure = error
                return
            }
            let middle = letters.startIndex + letters.count / 2
            await file(letters[..<middle], into: &filing)
            await file(letters[middle...], into: &filing)
        }
    }

    /// Stores a rejected dead letter without the parts that can cause a rejection; its body consists of bytes and is
    /// kept.
    private func fileAlone(_ item: DeadLetterItem) async throws(StoreError) -> Int {
        do {
            return try await file.file([item])
        } catch  where error.refusesContent {
            logger.warning(
                "filing a dead letter without its headers",
                ["id": .text(item.deadID), "error": .error(error)]
            )
            var bare = item
            let error = item.cause.error + " (headers and properties could not be stored)"
            bare.cause = DeadLetterCause(item.cause.stage, reason: item.cause.reason, error: error)
            bare.cause.provider = item.cause.provider
            bare.delivery = nil
            bare.origin.headers = Array("{}".utf8)
            bare.origin.properties = Array("{}".utf8)
            return try await file.file([bare])
        }
    }

    private static let batch = 200
    private static let reportInterval = Duration.seconds(10)
}

/// Filed dead letters that no line of the log contains yet.
private final class FiledTally: Sendable {
    private let counts = Mutex<(count: Int, new: Int)>((0, 0))

    func add(_ count: Int, new: Int) {
        counts.withLock { $0 = ($0.count + count, $0.new + new) }
    }

    func take() -> (count: Int, new: Int)? {
        let taken = counts.withLock { counts in
            defer { counts = (0, 0) }
            return counts
        }
        return taken.count > 0 ? taken : nil
    }
}

/// The filer's current consumer, for the readiness check.
private final class FilerConsumer: Sendable {
    private let consumer = Mutex<Consumer?>(nil)

    var isConsuming: Bool { consumer.withLock { $0 }?.isConsuming ?? false }

    func replace(by other: Consumer?) {
        consumer.withLock { $0 = other }
    }
}
