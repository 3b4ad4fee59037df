import ServiceRuntime

/// The console's metrics.
struct ConsoleMetrics: Sendable {
    private let calls: LabelledMetric<Counter>
    private let attempts: LabelledMetric<Counter>

    init(_ registry: MetricsRegistry, sessions: @escaping @Sendable () -> Int) {
        calls = registry.counter(
            "bellhop_console_requests_total",
            help: "Calls of the console that had a route.",
            labels: ["route", "method", "status"]
        )
        attempts = registry.counter(
            "bellhop_console_log_ins_total",
            help: "Attempts to sign in to the console: done, refused, limited.",
            labels: ["outcome"]
        )
        registry.gauge("bellhop_console_sessions", help: "Browsers that are signed in to the console.") {
            Double(sessions())
        }
    }

    func count(_ route: String, _ method: String, _ status: Int) {
        calls.with(route, method == "HEAD" ? "GET" : method, "\(status)").increment()
    }

    func attempt(_ outcome: String) { attempts.with(outcome).increment() }
}
