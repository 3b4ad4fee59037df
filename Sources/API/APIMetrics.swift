import ServiceRuntime

/// The API's metrics about calls.
struct APIMetrics: Sendable {
    private let calls: LabelledMetric<Counter>
    private let seconds: LabelledMetric<Histogram>
    private let refusals: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry) {
        calls = registry.counter(
            "bellhop_api_requests_total",
            help: "Calls of the inbox API that had a route.",
            labels: ["route", "method", "status"]
        )
        seconds = registry.histogram(
            "bellhop_api_request_seconds",
            help: "Request duration.",
            labels: ["route"]
        )
        refusals = registry.counter(
            "bellhop_api_refused_tokens_total",
            help: "Calls without a valid token, by fault.",
            labels: ["reason"]
        )
    }

    /// Counts a call.
    ///
    /// HEAD is counted as GET. Other methods have no route.
    func count(_ route: String, _ method: String, _ status: Int, in span: Duration) {
        calls.with(route, method == "HEAD" ? "GET" : method, "\(status)").increment()
        seconds.with(route).observe(span)
    }

    func refused(_ fault: TokenError) { refusals.with(fault.rawValue).increment() }
}
