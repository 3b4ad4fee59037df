/// One time series: what one set of label values counts.
package protocol MetricCell: Sendable {
    /// What a scrape shows of it now.
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

/// What a metric is, in Prometheus's words.
package enum MetricKind: String, Sendable {
    case counter
    case gauge
    case histogram
}
