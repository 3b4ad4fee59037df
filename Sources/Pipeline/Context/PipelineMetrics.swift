import BellhopRules
import Push
package import ServiceRuntime
import Store

/// The pipeline's metrics.
///
/// Labels are apps and closed sets of outcomes, never user data.
package struct PipelineMetrics: Sendable {
    let records: RecordMetrics
    let deliveries: DeliveryMetrics
    let backlogs: BacklogMetrics
    let fanouts: FanoutMetrics
    let queues: QueueMetrics
    let canaries: LabelledMetric<Gauge>
    let setAside: SetAsideMetrics
    let storeFailures: Counter
    private let deadLetters: LabelledMetric<Counter>
    private let batchSizes: Histogram
    private let batchSeconds: Histogram

    package init(_ registry: MetricsRegistry) {
        records = RecordMetrics(registry)
        deliveries = DeliveryMetrics(registry)
        backlogs = BacklogMetrics(registry)
        fanouts = FanoutMetrics(registry)
        queues = QueueMetrics(registry)
        setAside = SetAsideMetrics(registry)
        canaries = registry.gauge(
            "bellhop_canary_age_seconds",
            help: "Time that a lane's canary has been in flight; 0 if the last one has returned.",
            labels: ["lane"]
        )
        deadLetters = registry.counter(
            "bellhop_dead_lettered_total",
            help: "Messages moved to the dead-letter queue.",
            labels: ["stage", "reason"]
        )
        batchSizes = registry.histogram(
            "bellhop_batch_messages",
            help: "Messages in one batch.",
            bounds: [1, 4, 16, 64, 128, 256]
        )
        batchSeconds = registry.histogram(
            "bellhop_batch_seconds",
            help: "Time from a batch's arrival until all of it is stored.",
            bounds: Histogram.secondBounds
        )
        storeFailures = registry.counter(
            "bellhop_store_failures_total",
            help: "Statements that failed and were tried again."
        )
    }

    func batch(_ size: Int, took span: Duration) {
        batchSizes.observe(Double(size))
        batchSeconds.observe(span)
    }

    func countDeadLetter(_ cause: DeadLetterCause) {
        deadLetters.with(cause.stage.rawValue, cause.reason).increment()
    }
}

/// Counts the messages that fail individually in the database.
struct SetAsideMetrics: Sendable {
    private let messages: LabelledMetric<Gauge>
    private let total: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        messages = registry.gauge(
            "bellhop_set_aside_messages",
            help: "Messages set aside unacknowledged because the database fails on them alone.",
            labels: ["lane"]
        )
        total = registry.counter(
            "bellhop_given_up_messages_total",
            help: "Messages not finished, except in a drain, and users left out; each is tried again.",
            labels: ["lane"]
        )
    }

    func count(_ lane: String) { total.with(lane).increment() }

    func note(_ count: Int, _ lane: String) { messages.with(lane).set(Double(count)) }
}

/// The metrics of messages and their results in the database.
struct RecordMetrics: Sendable {
    private let notifications: LabelledMetric<Counter>
    private let events: LabelledMetric<Counter>
    private let feeds: LabelledMetric<Counter>
    private let decisions: LabelledMetric<Counter>
    private let unrecorded: LabelledMetric<Counter>
    private let reroutes: LabelledMetric<Counter>
    private let repairs: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        notifications = registry.counter(
            "bellhop_notifications_total",
            help: "In-app records by outcome: recorded, duplicate, conflict, erased.",
            labels: ["app", "outcome"]
        )
        events = registry.counter(
            "bellhop_planned_events_total",
            help: "Events kept for a wider audience or for later: kept, duplicate, conflict, cancelled, cancellation.",
            labels: ["app", "outcome"]
        )
        feeds = registry.counter(
            "bellhop_feed_messages_total",
            help: "Feed messages applied.",
            labels: ["app", "kind"]
        )
        decisions = registry.counter(
            "bellhop_decisions_total",
            help: "Decisions for new deliveries, by state and reason.",
            labels: ["app", "state", "reason"]
        )
        unrecorded = registry.counter(
            "bellhop_unrecorded_total",
            help: "Notifications that are kept nowhere, by the reason: muted where the type wants nothing kept then.",
            labels: ["app", "reason"]
        )
        reroutes = registry.counter(
            "bellhop_rerouted_total",
            help: "Notifications whose event named a route that leads elsewhere by now, by its type and that route.",
            labels: ["app", "type", "route"]
        )
        repairs = registry.preferenceFallbacks
    }

    func count(_ outcomes: some Sequence<(app: AppID, outcome: RecordOutcome)>) {
        var tally = RunLengthCounter<Word>()
        for (app, outcome) in outcomes { tally.add(Word(app: app, word: outcome.rawValue)) }
        for (key, count) in tally.counted() { notifications.with(key.app.text, key.word).increment(by: count) }
    }

    /// Counts the initial decisions on new notifications.
    func countDecisions(_ records: some Sequence<InboxRecord>) {
        var tally = RunLengthCounter<Decided>()
        for record in records {
            for line in record.deliveries {
                tally.add(Decided(app: record.app, state: line.state, reason: line.reason))
            }
        }
        for (key, count) in tally.counted() {
            decisions.with(key.app.text, key.state.rawValue, key.reason ?? "").increment(by: count)
        }
    }

    private struct Decided: Hashable {
        let app: AppID
        let state: DeliveryState
        let reason: String?
    }

    func countUnrecorded(_ app: AppID, _ reason: SuppressionReason) {
        unrecorded.with(app.text, reason.rawValue).increment()
    }

    func countReroutes(_ records: some Sequence<InboxRecord>) {
        for record in records {
            guard let route = record.words.reroutedFrom else { continue }
            reroutes.with(record.app.text, record.words.content.type.text, route).increment()
        }
    }

    func countRepair(_ app: AppID) { repairs.with(app.text).increment() }

    func count(_ outcome: PlanOutcome, _ plan: PlannedEvent) {
        events.with(plan.event.app.text, "\(outcome)").increment()
    }

    func countCancellation(_ app: AppID) {
        events.with(app.text, "cancellation").increment()
    }

    func countFeed(_ update: FeedUpdate) {
        feeds.with(update.app.text, update.change.type.rawValue).increment()
    }
}

/// The metrics of sends and their outcomes.
struct DeliveryMetrics: Sendable {
    private let settled: LabelledMetric<Counter>
    private let retries: LabelledMetric<Counter>
    private let receipts: LabelledMetric<Counter>
    let repeats: Counter
    let lostClaims: Counter
    let revocations: Counter

    init(_ registry: MetricsRegistry) {
        settled = registry.counter(
            "bellhop_deliveries_total",
            help: "Deliveries settled, by the state they were left in.",
            labels: ["app", "state"]
        )
        retries = registry.counter(
            "bellhop_retries_total",
            help: "Deliveries that wait in a retry tier for another attempt.",
            labels: ["tier"]
        )
        receipts = registry.counter(
            "bellhop_receipts_total",
            help: "Receipts, by outcome.",
            labels: ["app", "outcome"]
        )
        repeats = registry.counter(
            "bellhop_repeated_sends_total",
            help:
                "Deliveries sent again because the outcome of an earlier send is unknown, under the same collapse key."
        )
        lostClaims = registry.counter(
            "bellhop_lost_claims_total",
            help: "Settlements ignored because another batch had claimed the delivery."
        )
        revocations = registry.counter(
            "bellhop_revoked_devices_total",
            help: "Subscriptions revoked because the provider reported the device gone."
        )
    }

    /// Counts settlements, each with the tier in which its resume waits, if any.
    func count(_ settlements: some Sequence<(app: AppID, state: DeliveryState, tier: RetryTier?)>) {
        var tally = RunLengthCounter<Word>()
        for (app, state, tier) in settlements {
            tally.add(Word(app: app, word: state.rawValue))
            if let tier { retries.with(tier.name).increment() }
        }
        for (key, count) in tally.counted() { settled.with(key.app.text, key.word).increment(by: count) }
    }

    /// Counts receipts by the kind of verdict, or as `missing` or `unanswered` if there is none.
    func countReceipts(_ answers: [ReceiptAnswer], of app: AppID) {
        var tally: [String: Int] = [:]
        for answer in answers { tally[answer.word, default: 0] += 1 }
        for (word, count) in tally { receipts.with(app.text, word).increment(by: count) }
    }
}

private struct Word: Hashable {
    let app: AppID
    let word: String
}

extension ReceiptAnswer {
    fileprivate var word: String {
        switch self {
        case .known(let verdict): verdict.kind.rawValue
        case .missing: "missing"
        case .unanswered: "unanswered"
        }
    }
}
