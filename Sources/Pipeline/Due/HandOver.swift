import Postgres
package import ServiceRuntime
import Store

/// Hands over what has fallen due and what was stranded, so that no crash between a commit and a publish is for ever.
///
/// Any number may run: each takes users that no other holds, moves their due time ahead, and publishes once for each
/// group. After a long pause it catches up at a bounded rate, the urgent first, then the oldest.
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
        resumes = ResumeSender(publisher: tools.publisher, names: tools.names, logger: logger)
        handedOver = tools.metrics.counter(
            "bellhop_handed_over_total",
            help: "Notifications handed over because they were due or stranded."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        await loop.run(until: drain) { try await handOver(drain) }
    }

    private func handOver(_ drain: DrainSignal) async throws(PostgresError) -> DutyLoop.Next {
        let groups = try await due.take(about: min(rate, Self.batch))
        guard !groups.isEmpty else { return .later }
        var count = 0
        for (lane, groups) in Dictionary(grouping: groups, by: \.priority.lane) {
            // What is not confirmed comes up again in ten minutes.
            let unconfirmed = await resumes.send(groups: groups.map(\.notifications), lane: lane, until: drain)
            let size = groups.reduce(0) { $0 + $1.notifications.count }
            handedOver.increment(by: size - unconfirmed.count)
            count += size
        }
        logger.info("handed over", ["notifications": .integer(count), "users": .integer(groups.count)])
        return .after(.seconds(1) * count / rate)
    }

    private static let batch = 1000
}
