import ServiceRuntime

/// The metrics about streams.
struct LiveMetrics: Sendable {
    /// The reason why the server ended a stream.
    enum Ending: String {
        case expired, keys, slow, stopped
    }

    private let registry: MetricsRegistry
    private let events: LabelledMetric<Counter>
    private let endings: LabelledMetric<Counter>
    private let refusals: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        self.registry = registry
        events = registry.counter(
            "bellhop_live_events_total",
            help: "Events that streams were told; one counts once for all streams of its user.",
            labels: ["event"]
        )
        endings = registry.counter(
            "bellhop_live_streams_ended_total",
            help: "Streams that this side ended: their time was over, the keys have changed, the reader was too slow, "
                + "the process stopped.",
            labels: ["reason"]
        )
        refusals = registry.counter(
            "bellhop_live_streams_refused_total",
            help: "Streams that might not begin, since there were too many of the user or in the process.",
            labels: ["reason"]
        )
    }

    func readStreams(_ reading: @escaping @Sendable () -> Double?) {
        registry.gauge("bellhop_live_streams", help: "Streams that are open.", reading: reading)
    }

    func told(_ event: LiveEvent) { events.with(event.kind.rawValue).increment() }

    func ended(_ reason: Ending) { endings.with(reason.rawValue).increment() }

    func refused(_ refusal: LiveStreams.Refusal) {
        let reason =
            switch refusal {
            case .tooManyOfUser: "user"
            case .tooMany: "process"
            case .closed: "stopping"
            }
        refusals.with(reason).increment()
    }
}
