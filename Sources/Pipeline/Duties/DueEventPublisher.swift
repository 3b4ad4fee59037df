import Postgres
package import ServiceRuntime
import Store

/// Publishes the events whose `deliverAt` has come: from then on each is an event like any other.
///
/// An event that a crash makes it publish twice is recorded once, since it keeps its id. Events for a wider audience than
/// named users wait for their expansion.
package struct DueEventPublisher: Service {
    package let name = "due-events"
    private let plans: EventBook
    private let tools: DutyTools
    private let logger: Logger
    private let loop: DutyLoop
    private let published: Counter

    package init(tools: DutyTools, interval: Duration = .seconds(1)) {
        self.tools = tools
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: interval, trouble: "the database cannot be asked for due events")
        plans = EventBook(pool: tools.pool)
        published = tools.metrics.counter(
            "bellhop_due_events_total",
            help: "Events published because their deliverAt had come."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var lookBack = LookBack(every: loop.interval)
        await loop.run(until: drain) { try await publishDue(&lookBack) }
    }

    /// What is not known to have gone out is given back at once: to publish it twice is harmless, to keep it is not.
    private func publishDue(_ lookBack: inout LookBack) async throws(PostgresError) -> DutyLoop.Next {
        let due = try await lookBack.look { (span) throws(PostgresError) in
            try await plans.takeDue(atMost: Self.batch, within: span)
        }
        guard !due.isEmpty else { return .later }
        let outcomes = await tools.publisher.publish(due.map { tools.event($0.app, $0.type.text, $0.body) })
        let confirmed = zip(due, outcomes).filter { $1 == .confirmed }.map(\.0)
        let open = zip(due, outcomes).filter { $1 != .confirmed }.map(\.0)
        if !open.isEmpty { lookBack.putBack() }
        try await plans.giveBack(open)
        try await plans.markExpanded(confirmed)
        published.increment(by: confirmed.count)
        logger.info(
            "published events that were due",
            ["events": .integer(confirmed.count), "unconfirmed": .integer(open.count)]
        )
        return open.isEmpty && due.count == Self.batch ? .atOnce : .later
    }

    private static let batch = 200
}
