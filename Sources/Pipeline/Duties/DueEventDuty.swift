package import ServiceRuntime
import Store

/// Publishes events whose `deliverAt` is due.
///
/// From then on each is an event like any other.
///
/// If a crash causes a repeated publication, the event is recorded once, because it keeps its id. The duty also
/// publishes events for a wide audience whose expansion never began, for whatever reason. An event that has expired
/// meanwhile, or is too old, is closed instead.
package struct DueEventDuty: Service {
    package let name = "due-events"
    private let store: WorkerStore
    private let context: SchedulerContext
    private let logger: Logger
    private let loop: DutyLoop
    private let published: Counter
    private let closed: LabelledMetric<Counter>
    private let age: Duration

    /// Creates it; from `age` on, an event for a wide audience is no longer expanded.
    package init(context: SchedulerContext, interval: Duration = .seconds(1), age: Duration = .seconds(86_400)) {
        self.context = context
        self.age = age
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: interval, trouble: "cannot read due events")
        store = WorkerStore(pool: context.pool)
        published = context.metrics.counter(
            "bellhop_due_events_total",
            help: "Events published at their deliverAt."
        )
        closed = context.metrics.counter(
            "bellhop_closed_events_total",
            help: "Events for a wider audience that were given up before they were expanded, by the reason.",
            labels: ["app", "reason"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var lookBack = PollWindow(every: loop.interval)
        await loop.run(until: drain) { try await publishDue(&lookBack) }
    }

    /// Publishes due events.
    ///
    /// Events without a confirm are returned immediately: a second publication is harmless, a lost one is not.
    private func publishDue(_ lookBack: inout PollWindow) async throws(StoreError) -> DutyLoop.Next {
        let taken = try await lookBack.look { (span) throws(StoreError) in
            try await store.takeDueEvents(
                atMost: Self.batch,
                within: span,
                closingAfter: age,
                notBeyond: context.latest
            )
        }
        guard !taken.isEmpty else { return .later }
        for event in taken { if let closing = event.closing { tell(closing, of: event) } }
        let due = taken.filter { $0.closing == nil }
        let outcomes = await context.publisher.publish(due.map { context.event($0.app, $0.type.text, $0.body) })
        let confirmed = zip(due, outcomes).filter { $1 == .confirmed }.map(\.0)
        let open = zip(due, outcomes).filter { $1 != .confirmed }.map(\.0)
        if !open.isEmpty { lookBack.putBack() }
        try await store.giveBack(open)
        try await store.markExpanded(confirmed)
        published.increment(by: confirmed.count)
        logger.info(
            "published due events",
            ["events": .integer(confirmed.count), "unconfirmed": .integer(open.count)]
        )
        return open.isEmpty && taken.count == Self.batch ? .atOnce : .later
    }

    private func tell(_ closing: DueEvent.Closing, of event: DueEvent) {
        closed.with(event.app.text, closing.rawValue).increment()
        logger.warning(
            "closed an event that was not expanded in time",
            ["app": .text(event.app.text), "event": .text(event.id.text), "reason": .text(closing.rawValue)]
        )
    }

    private static let batch = 200
}
