/// One time series, for one set of label values.
package protocol MetricCell: Sendable {
    /// Returns the samples for a scrape.
    func samples() -> [MetricSample]
}

/// One line of a scrape, without its metric's name and labels.
package struct MetricSample: Sendable, Equatable {
    let suffix: String
    /// The `le` label of a histogram's bucket.
    package let bound: String?
    package let value: Double

    init(suffix: String = "", bound: String? = nil, value: Double) {
        self.suffix = suffix
        self.bound = bound
        self.value = value
    }
}

/// The type of a metric, in Prometheus's terms.
package enum MetricKind: String, Sendable {
    case counter
    case gauge
    case histogram
}
