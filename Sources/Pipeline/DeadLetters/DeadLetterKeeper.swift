import Postgres
package import ServiceRuntime
import Store

/// Deletes resolved and discarded dead letters when they have been kept for long enough.
package struct DeadLetterKeeper: Service {
    package let name = "dead-letter retention"
    private let retirement: DeadLetterRetirement
    private let logger: Logger
    private let interval: Duration
    private let deleted: Counter

    package init(tools: DutyTools, retention: DeadLetterRetention, interval: Duration = .seconds(600)) {
        self.interval = interval
        retirement = DeadLetterRetirement(pool: tools.pool, retention: retention)
        logger = tools.logger.labelled(name)
        deleted = tools.metrics.counter(
            "bellhop_dead_letters_deleted_total",
            help: "Dead letters deleted because they had been kept for as long as is configured."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            let count = await deleteBatch()
            await drain.pause(for: count > 0 ? .milliseconds(200) : interval)
        }
    }

    private func deleteBatch() async -> Int {
        do throws(PostgresError) {
            let count = try await retirement.deleteBatch()
            guard count > 0 else {
                try await retirement.forgetReplays()
                return 0
            }
            deleted.increment(by: count)
            logger.notice("deleted old dead letters", ["items": .integer(count)])
            return count
        } catch {
            logger.warning("old dead letters cannot be deleted", ["error": .error(error)])
            return 0
        }
    }
}
