package import AMQP
import BellhopRules
package import Postgres
package import ServiceRuntime
import Store

/// Hands over again what is due and what was stranded, so that no crash between a commit and a publish is for ever.
///
/// Any number may run: each takes lines that no other holds and moves their due time ahead before it publishes.
package struct Sweeper: Service {
    package let name = "sweeper"
    private let ledger: Ledger
    private let resumes: ResumeSender
    private let logger: Logger
    private let handedOver: Counter
    private let interval: Duration
    private let grace: Duration

    /// When it looks and what it takes for stranded.
    package struct Rhythm: Sendable {
        package var interval: Duration
        /// How long overdue a retry or a claim must be.
        package var grace: Duration

        package init(interval: Duration = .seconds(5), grace: Duration = .seconds(300)) {
            self.interval = interval
            self.grace = grace
        }
    }

    package init(
        pool: PostgresPool,
        lease: Duration,
        publisher: Publisher,
        names: TopologyNames,
        rhythm: Rhythm = Rhythm(),
        logger: Logger,
        metrics: MetricsRegistry
    ) {
        self.logger = logger.labelled("sweeper")
        ledger = Ledger(pool: pool, lease: lease)
        resumes = ResumeSender(publisher: publisher, names: names, logger: self.logger)
        handedOver = metrics.counter(
            "bellhop_handed_over_total",
            help: "Notifications handed over again because they were due or stranded."
        )
        interval = rhythm.interval
        grace = rhythm.grace
    }

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            let count = await sweep(drain)
            if count < Self.batch { await pause(drain) }
        }
    }

    private func sweep(_ drain: DrainSignal) async -> Int {
        do throws(PostgresError) {
            let found = try await ledger.handOver(atMost: Self.batch, strandedAfter: grace)
            guard !found.isEmpty else { return 0 }
            for (lane, entries) in Dictionary(grouping: found, by: \.priority.lane) {
                let unconfirmed = await resumes.send([.atOnce: entries.map(\.key)], lane: lane, until: drain)
                handedOver.increment(by: entries.count - unconfirmed.count)
            }
            logger.info("handed over", ["notifications": .integer(found.count)])
            return found.count
        } catch {
            // What was moved ahead and not published comes up again in ten minutes.
            logger.warning("the database cannot be swept", ["error": .error(error)])
            return 0
        }
    }

    private func pause(_ drain: DrainSignal) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [interval] in try? await Task.sleep(for: interval) }
            group.addTask { await drain.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    private static let batch = 1000
}
