import Postgres
package import ServiceRuntime
import Store

/// Publishes the events whose `deliverAt` has come: from then on each is an event like any other.
///
/// An event that a crash makes it publish twice is recorded once, since it keeps its id. Events for a wider audience than
/// named users wait for their expansion.
package struct DueEventPublisher: Service {
    package let name = "due-events"
    private let plans: EventPlans
    private let tools: DutyTools
    private let logger: Logger
    private let published: Counter
    private let interval: Duration

    package init(tools: DutyTools, interval: Duration = .seconds(1)) {
        self.tools = tools
        self.interval = interval
        logger = tools.logger.labelled(name)
        plans = EventPlans(pool: tools.pool)
        published = tools.metrics.counter(
            "bellhop_due_events_total",
            help: "Events published because their deliverAt had come."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            let count = await publishDue()
            if count < Self.batch { await drain.pause(for: interval) }
        }
    }

    private func publishDue() async -> Int {
        do throws(PostgresError) {
            let due = try await plans.takeDue(atMost: Self.batch)
            guard !due.isEmpty else { return 0 }
            let outcomes = await tools.publisher.publish(due.map { tools.event($0.app, $0.type.text, $0.body) })
            let confirmed = zip(due, outcomes).filter { $1 == .confirmed }.map(\.0)
            try await plans.markExpanded(confirmed)
            published.increment(by: confirmed.count)
            logger.info("published events that were due", ["events": .integer(confirmed.count)])
            return due.count
        } catch {
            // What was taken and not marked comes up again in ten minutes.
            logger.warning("the database cannot be asked for due events", ["error": .error(error)])
            return 0
        }
    }

    private static let batch = 200
}
