import BellhopRules
import Postgres
package import ServiceRuntime
import Store

/// Hands over what has fallen due and what was stranded, so that no crash between a commit and a publish is for ever.
///
/// Any number may run: each takes users that no other holds, moves their due time ahead, and publishes once for each
/// group. After a long pause it catches up at a bounded rate: each look takes a bounded number of each priority, and the
/// urgent are looked at again before each of the others.
package struct HandOver: Service {
    package let name = "hand-over"
    private let due: DueDeliveries
    private let resumes: ResumeSender
    private let logger: Logger
    private let loop: DutyLoop
    private let handedOver: Counter
    private let rate: Int

    /// When it looks and what it takes for stranded.
    package struct Rhythm: Sendable {
        package var interval: Duration
        /// How long overdue a retry or a claim must be.
        package var grace: Duration
        /// Notifications a second at most.
        package var rate: Int

        package init(interval: Duration = .seconds(1), grace: Duration = .seconds(300), rate: Int = 1000) {
            self.interval = interval
            self.grace = grace
            self.rate = max(1, rate)
        }
    }

    package init(tools: DutyTools, rhythm: Rhythm = Rhythm()) {
        rate = rhythm.rate
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: rhythm.interval, trouble: "the database cannot be asked what is due")
        due = DueDeliveries(pool: tools.pool, strandedAfter: rhythm.grace)
        resumes = tools.resumes(logger)
        handedOver = tools.metrics.counter(
            "bellhop_handed_over_total",
            help: "Notifications handed over because they were due or stranded."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        await loop.run(until: drain) { try await handOver(drain) }
    }

    private func handOver(_ drain: DrainSignal) async throws(PostgresError) -> DutyLoop.Next {
        var count = 0
        for priority in [Priority.high, .normal, .high, .low] where !drain.isDraining {
            let size = try await handOver(priority, drain)
            count += size
            // No longer than a second, so that what falls due meanwhile and is urgent is not late.
            if size > 0 { await drain.pause(for: .seconds(1) * size / rate) }
        }
        return count > 0 ? .atOnce : .later
    }

    private func handOver(_ priority: Priority, _ drain: DrainSignal) async throws(PostgresError) -> Int {
        let groups = try await due.take(priority, atMost: min(rate, Self.batch))
        guard !groups.isEmpty else { return 0 }
        // What is not confirmed comes up again in ten minutes.
        let unconfirmed = await resumes.send(groups: groups.map(\.notifications), lane: priority.lane, until: drain)
        let size = groups.reduce(0) { $0 + $1.notifications.count }
        handedOver.increment(by: size - unconfirmed.count)
        logger.info("handed over", ["notifications": .integer(size), "users": .integer(groups.count)])
        return size
    }

    private static let batch = 1000
}
