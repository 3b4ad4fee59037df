package import BellhopRules
package import ServiceRuntime

/// The metrics of the process's pushes: `bellhop_push_total` and `bellhop_push_seconds`.
package struct PushMetrics: Sendable {
    private let total: LabelledMetric<Counter>
    private let seconds: LabelledMetric<Histogram>

    package init(_ registry: MetricsRegistry) {
        total = registry.counter(
            "bellhop_push_total",
            help: "Verdicts on pushes.",
            labels: ["provider", "app", "verdict"]
        )
        seconds = registry.histogram(
            "bellhop_push_seconds",
            help: "Duration of a push batch, until its last verdict.",
            labels: ["provider", "app"]
        )
    }

    /// Returns the metrics of one sender, with its series looked up once.
    package func forSender(_ provider: PushProvider, app: AppID) -> SenderMetrics {
        forSender(called: provider.rawValue, app: app)
    }

    /// Returns the metrics of an app's mails, which have no push provider.
    package func forEmail(app: AppID) -> SenderMetrics { forSender(called: "email", app: app) }

    private func forSender(called name: String, app: AppID) -> SenderMetrics {
        let counters = Verdict.Kind.allCases.map { total.with(name, app.text, $0.rawValue) }
        return SenderMetrics(
            counters: Dictionary(uniqueKeysWithValues: zip(Verdict.Kind.allCases, counters)),
            seconds: seconds.with(name, app.text)
        )
    }

    /// The metrics of one app at one provider.
    package struct SenderMetrics: Sendable {
        let counters: [Verdict.Kind: Counter]
        let seconds: Histogram

        /// Counts a whole batch, with one addition per kind of verdict.
        func count(_ verdicts: [Verdict], took duration: Duration) {
            var counts: [Verdict.Kind: Int] = [:]
            for verdict in verdicts { counts[verdict.kind, default: 0] += 1 }
            for (kind, count) in counts { counters[kind]?.increment(by: count) }
            seconds.observe(duration)
        }
    }
}

extension PushMetrics.SenderMetrics? {
    /// Returns the verdicts on a batch, and counts and times them if there are metrics.
    ///
    /// An empty batch causes no request and is not counted.
    func measured<Message>(_ batch: [Message], _ verdicts: ([Message]) async -> [Verdict]) async -> [Verdict] {
        guard !batch.isEmpty else { return [] }
        let start = ContinuousClock.now
        let verdicts = await verdicts(batch)
        self?.count(verdicts, took: .now - start)
        return verdicts
    }
}
