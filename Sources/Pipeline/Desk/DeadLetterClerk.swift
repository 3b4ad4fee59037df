package import AMQP
import BellhopRules
import Postgres
package import ServiceRuntime
import Store
import Synchronization

/// Files what lies in the dead-letter queue into the table that the on-call engineer works with.
///
/// While the database is away the clerk has no consumer at all: the queue keeps the letters, and any number of clerks
/// may work on it side by side.
package struct DeadLetterClerk: Service {
    package let name = "dead-letter clerk"
    private let makeConsumer: @Sendable () -> Consumer
    private let pool: PostgresPool
    private let file: DeadLetterBook
    private let time: any TimeSource
    private let chance: Chance
    private let logger: Logger
    private let filed: Counter
    private let names: TopologyNames
    private let current = CurrentConsumer()

    /// Whether dead letters can arrive: it has a consumer, and that is subscribed.
    package var isReady: Bool { current.isConsuming }

    /// `makeConsumer` makes a fresh consumer of the dead-letter queue, not yet started.
    package init(tools: DutyTools, makeConsumer: @escaping @Sendable () -> Consumer) {
        self.makeConsumer = makeConsumer
        pool = tools.pool
        time = tools.time
        chance = tools.chance
        logger = tools.logger.labelled(name)
        names = tools.names
        file = DeadLetterBook(pool: tools.pool)
        filed = tools.metrics.counter("bellhop_dead_letters_filed_total", help: "Dead letters filed into the table.")
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

    /// Runs one consumer until the drain, or until the database fails; unfiled letters go back to the queue.
    ///
    /// If the database fails on single letters, the others are filed for some seconds more, and then all of them come again.
    ///
    /// - Returns: Whether anything was filed.
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
            while let batch = await consumer.next(atMost: Self.batch, bytes: DeadLetterBook.pageBytes) {
                let filing = await file(batch)
                if !filing.done.isEmpty {
                    hasFiled = true
                    consumer.acknowledge(filing.done)
                    filed.increment(by: filing.new)
                    logger.info(
                        "filed dead letters",
                        ["count": .integer(filing.done.count), "new": .integer(filing.new)]
                    )
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
        return hasFiled
    }

    private func leave(_ consumer: Consumer) async {
        guard (try? await time.sleep(for: .seconds(5))) != nil else { return }
        consumer.stop()
    }

    /// A letter on its way into the table.
    private struct Letter: Sendable {
        let tag: DeliveryTag
        let item: DeadLetterItem
    }

    /// The result of a batch of letters.
    private struct Filing: Sendable {
        var new = 0
        var done: [DeliveryTag] = []
        /// Why the others are not filed.
        var failure: PostgresError?
        var attempts = 0

        /// Whether dividing goes on: not if so many attempts have shown that the server files nothing at all.
        var isWorthwhile: Bool { !done.isEmpty || attempts < 24 }
    }

    private func file(_ batch: [IncomingMessage]) async -> Filing {
        let now = time.timestamp
        let letters = batch.map { Letter(tag: $0.tag, item: DeadLetterReading.item(of: $0, at: now, names: names)) }
        var filing = Filing()
        await file(letters[...], into: &filing)
        return filing
    }

    /// In halves if the database rejects a letter or fails on it, so that only the culprit is filed alone, or stays in the
    /// queue.
    private func file(_ letters: ArraySlice<Letter>, into filing: inout Filing) async {
        guard let first = letters.first else { return }
        filing.attempts += 1
        do throws(PostgresError) {
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

    /// A letter that the database refuses is filed without what it can be refused for; its body is bytes, and stays.
    private func fileAlone(_ item: DeadLetterItem) async throws(PostgresError) -> Int {
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
}

/// The consumer that the clerk has at the moment, for those who ask from outside.
private final class CurrentConsumer: Sendable {
    private let consumer = Mutex<Consumer?>(nil)

    var isConsuming: Bool { consumer.withLock { $0 }?.isConsuming ?? false }

    func replace(by other: Consumer?) {
        consumer.withLock { $0 = other }
    }
}
