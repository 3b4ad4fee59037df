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
                backoff.reset()
                await fileUntilTrouble(drain)
            } else {
                logger.debug("waiting for the database; the queue keeps the dead letters")
            }
            guard !drain.isDraining else { break }
            try? await time.sleep(for: backoff.next(using: &chance))
        }
    }

    /// Runs one consumer until the drain, or until the database fails; unfiled letters go back to the queue.
    private func fileUntilTrouble(_ drain: DrainSignal) async {
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
                do {
                    let new = try await file(batch)
                    consumer.acknowledge(batch.map(\.tag))
                    filed.increment(by: new)
                    logger.info("filed dead letters", ["count": .integer(batch.count), "new": .integer(new)])
                } catch {
                    logger.warning(
                        "the database takes no dead letters, leaving them in the queue",
                        ["error": .error(error)]
                    )
                    break
                }
            }
            group.cancelAll()
        }
        await consumer.close()
    }

    private func file(_ batch: [IncomingMessage]) async throws(PostgresError) -> Int {
        let now = time.timestamp
        return try await file(batch.map { DeadLetterReading.item(of: $0, at: now, names: names) }[...])
    }

    /// In halves where the database refuses something of it, so that only the culprit is filed alone.
    private func file(_ items: ArraySlice<DeadLetterItem>) async throws(PostgresError) -> Int {
        guard items.count > 1 else {
            guard let item = items.first else { return 0 }
            return try await fileAlone(item)
        }
        do {
            return try await file.file(Array(items))
        } catch  where error.refusesContent {
            let middle = items.startIndex + items.count / 2
            return try await file(items[..<middle]) + file(items[middle...])
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
