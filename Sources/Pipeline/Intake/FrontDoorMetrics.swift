import BellhopRules
package import ServiceRuntime
import Store

/// What the front door counts. Labels are apps and closed sets of outcomes, never anything of a user's.
package struct FrontDoorMetrics: Sendable {
    private let notifications: Labelled<Counter>
    private let events: Labelled<Counter>
    private let feeds: Labelled<Counter>
    private let deadLetters: Labelled<Counter>
    private let batchSizes: Histogram
    private let batchSeconds: Histogram
    let storeFailures: Counter

    package init(_ registry: MetricsRegistry) {
        notifications = registry.counter(
            "bellhop_notifications_total",
            help: "In-app records by outcome: recorded, duplicate, conflict, erased.",
            labels: ["app", "outcome"]
        )
        events = registry.counter(
            "bellhop_planned_events_total",
            help: "Events kept for a wider audience or for later, by outcome: kept, duplicate, conflict, cancelled.",
            labels: ["app", "outcome"]
        )
        feeds = registry.counter(
            "bellhop_feed_messages_total", help: "Messages that feed what belongs to a user.", labels: ["app", "kind"]
        )
        deadLetters = registry.counter(
            "bellhop_dead_lettered_total",
            help: "Messages moved to the dead-letter queue.",
            labels: ["stage", "reason"]
        )
        batchSizes = registry.histogram(
            "bellhop_batch_messages", help: "Messages in one batch.", bounds: [1, 4, 16, 64, 128, 256]
        )
        batchSeconds = registry.histogram(
            "bellhop_batch_seconds", help: "Time from a batch's arrival until it may be acknowledged.",
            bounds: Histogram.secondBounds
        )
        storeFailures = registry.counter(
            "bellhop_store_failures_total", help: "Statements that failed and were tried again."
        )
    }

    func batch(_ size: Int, took span: Duration) {
        batchSizes.observe(Double(size))
        batchSeconds.observe(span)
    }

    func count(_ outcome: Inbox.Outcome, _ record: InboxRecord) {
        let label =
            switch outcome {
            case .recorded: "recorded"
            case .duplicate: "duplicate"
            case .conflict: "conflict"
            case .recipientErased: "erased"
            }
        notifications.with(record.app.text, label).increment()
    }

    func count(_ outcome: EventPlans.Outcome, _ plan: PlannedEvent) {
        events.with(plan.event.app.text, "\(outcome)").increment()
    }

    func countCancellation(_ app: AppID) {
        events.with(app.text, "cancellation").increment()
    }

    func countFeed(_ update: FeedUpdate) {
        feeds.with(update.app.text, update.change.type.rawValue).increment()
    }

    func countDeadLetter(_ fault: Fault) {
        deadLetters.with(fault.stage.rawValue, fault.reason).increment()
    }
}
