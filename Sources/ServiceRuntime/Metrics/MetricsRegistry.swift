import Synchronization

/// All metrics of a process, which a scrape reads as Prometheus text.
///
/// Registering the same name, kind and labels again returns the same metric. Names and labels come only from code, so
/// that an invalid or conflicting one ends the process at start, in the first test that runs it.
package final class MetricsRegistry: Sendable {
    private struct Entry: Sendable {
        let kind: MetricKind
        let help: String
        let labels: [String]
        /// The metric itself, which is returned if it is registered again.
        let metric: any Sendable
        let series: @Sendable () -> [(values: [String], samples: [MetricSample])]
    }

    /// The default number of label combinations that one metric distinguishes.
    package static let usualCap = 200

    private let entries = Mutex<[String: Entry]>([:])

    package init() {}

    package func counter(_ name: String, help: String) -> Counter {
        counter(name, help: help, labels: []).cell(for: [])
    }

    package func counter(
        _ name: String,
        help: String,
        labels: [String],
        cap: Int = usualCap
    ) -> LabelledMetric<Counter> {
        labelled(name, .counter, help: help, labels: labels, cap: cap) { Counter() }
    }

    package func gauge(_ name: String, help: String) -> Gauge {
        gauge(name, help: help, labels: []).cell(for: [])
    }

    package func gauge(_ name: String, help: String, labels: [String], cap: Int = usualCap) -> LabelledMetric<Gauge> {
        labelled(name, .gauge, help: help, labels: labels, cap: cap) { Gauge() }
    }

    /// Registers a gauge that is read at every scrape; `nil` omits it from that scrape.
    ///
    /// The closure must answer immediately, because a scrape waits for it.
    package func gauge(_ name: String, help: String, reading: @escaping @Sendable () -> Double?) {
        callback(name, .gauge, help: help, labels: []) { reading().map { [([], $0)] } ?? [] }
    }

    /// Registers a gauge or counter that is read at every scrape for all its series, at most `usualCap` of them.
    package func callback(
        _ name: String,
        _ kind: MetricKind,
        help: String,
        labels: [String],
        reading: @escaping @Sendable () -> [(values: [String], value: Double)]
    ) {
        precondition(kind != .histogram, "\(name): a histogram cannot be read by a callback")
        register(name, kind, help: help, labels: labels) {
            Entry(kind: kind, help: help, labels: labels, metric: name) {
                reading()
                    .filter { $0.values.count == labels.count }
                    .sorted { $0.values.lexicographicallyPrecedes($1.values) }
                    .prefix(Self.usualCap)
                    .map { ($0.values, [MetricSample(value: $0.value)]) }
            }
        }
    }

    /// Registers a histogram with increasing upper bounds of its buckets; infinity is added as the last one.
    package func histogram(
        _ name: String,
        help: String,
        bounds: [Double] = Histogram.secondBounds
    ) -> Histogram {
        histogram(name, help: help, labels: [], bounds: bounds).cell(for: [])
    }

    package func histogram(
        _ name: String,
        help: String,
        labels: [String],
        bounds: [Double] = Histogram.secondBounds
    ) -> LabelledMetric<Histogram> {
        precondition(!labels.contains("le"), "\(name): the label le belongs to the buckets")
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "\(name): the bounds must rise")
        return labelled(name, .histogram, help: help, labels: labels, cap: Self.usualCap) { Histogram(bounds: bounds) }
    }

    /// Returns all metrics as Prometheus text, format 0.0.4, ordered by name.
    package func text() -> String {
        // Callbacks run outside the lock, so that they may use the registry.
        entries.withLock { $0 }.sorted { $0.key < $1.key }.reduce(into: "") { text, item in
            let (name, entry) = item
            let family = MetricText(name: name, kind: entry.kind, help: entry.help, labels: entry.labels)
            text += family.render(entry.series())
        }
    }

    /// Returns the current samples of one metric by the values of its labels; the result is empty if the name is
    /// unknown.
    package func series(of name: String) -> [(values: [String], samples: [MetricSample])] {
        entries.withLock { $0[name] }?.series() ?? []
    }

    private func labelled<Cell: MetricCell>(
        _ name: String,
        _ kind: MetricKind,
        help: String,
        labels: [String],
        cap: Int,
        makeCell: @escaping @Sendable () -> Cell
    ) -> LabelledMetric<Cell> {
        let overflows = labels.isEmpty ? Counter() : overflowCounter(of: name)
        let entry = register(name, kind, help: help, labels: labels) {
            let metric = LabelledMetric(labels: labels, cap: max(1, cap), overflows: overflows, makeCell: makeCell)
            return Entry(kind: kind, help: help, labels: labels, metric: metric) { metric.series() }
        }
        guard let metric = entry.metric as? LabelledMetric<Cell> else {
            preconditionFailure("\(name) is already a metric that is read by a callback")
        }
        return metric
    }

    private func overflowCounter(of name: String) -> Counter {
        let metric = "bellhop_metric_label_overflows_total"
        // The number of metrics bounds this one, so that its cap is unlimited. It does not count its overflows.
        let entry = register(metric, .counter, help: Self.overflowHelp, labels: ["metric"]) {
            let family = LabelledMetric(labels: ["metric"], cap: .max, overflows: Counter()) { Counter() }
            return Entry(kind: .counter, help: Self.overflowHelp, labels: ["metric"], metric: family) {
                family.series()
            }
        }
        return (entry.metric as? LabelledMetric<Counter>)?.with(name) ?? Counter()
    }

    private static let overflowHelp = "Uses of label values beyond a metric's cap, which were counted as other."

    @discardableResult
    private func register(
        _ name: String,
        _ kind: MetricKind,
        help: String,
        labels: [String],
        make: () -> Entry
    ) -> Entry {
        precondition(MetricText.isName(name), "\(name) is not a metric name: bellhop_[a-z0-9_]+")
        precondition(labels.allSatisfy(MetricText.isLabel), "\(name): a label must match [a-z][a-z0-9_]*")
        return entries.withLock { entries in
            if let entry = entries[name] {
                let isSame = entry.kind == kind && entry.labels == labels
                precondition(isSame, "\(name) is already registered as another metric")
                return entry
            }
            let entry = make()
            entries[name] = entry
            return entry
        }
    }
}
