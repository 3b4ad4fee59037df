import BellhopRules
import Publishing
import ServiceRuntime

/// The metrics of events that arrive by HTTP.
struct PublishingMetrics: Sendable {
    /// The result for the events of a call.
    enum Outcome: String {
        case accepted, invalid, forbidden, unavailable
    }

    private let events: LabelledMetric<Counter>
    private let seconds: LabelledMetric<Histogram>

    init(_ registry: MetricsRegistry, _ publisher: EventPublisher?) {
        events = registry.counter(
            "bellhop_http_events_total",
            help: "Events of POST /api/events: accepted, invalid, forbidden, unavailable.",
            labels: ["app", "outcome"]
        )
        seconds = registry.histogram(
            "bellhop_http_event_confirm_seconds",
            help: "Time from a valid call to the broker's confirms of its events.",
            labels: ["app"]
        )
        guard let publisher else { return }
        registry.gauge("bellhop_http_events_unconfirmed", help: "Events of calls that wait for confirms.") {
            Double(publisher.pendingEvents)
        }
        registry.gauge(
            "bellhop_http_events_unconfirmed_bytes",
            help: "Bytes of events of calls that wait for confirms."
        ) { Double(publisher.pendingBytes) }
    }

    func count(_ outcome: Outcome, _ count: Int, of app: AppID) {
        events.with(app.text, outcome.rawValue).increment(by: count)
    }

    func confirmed(after span: Duration, of app: AppID) { seconds.with(app.text).observe(span) }
}
