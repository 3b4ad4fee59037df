import Foundation
import TestSupport

/// Every metric that the sources register, and thus every metric that a dashboard can use.
struct MetricNames {
    struct Metric: Hashable {
        let name: String
        /// The kind: `counter`, `gauge` or `histogram`.
        let kind: String
        let help: String
    }

    let metrics: [Metric]

    /// Reads all of `Sources`: a metric is registered where a literal name follows its kind.
    init() throws {
        let pattern =
            /[.\s](counter|gauge|histogram|callback)\(\s*"(bellhop_[a-z_]+)",\s*(?:\.(counter|gauge),\s*)?help:\s*"([^"]*)"/
        // The registry itself counts the label values that its metrics cut off.
        var found: Set = [
            Metric(name: "bellhop_metric_label_overflows_total", kind: "counter", help: "Cut off by a metric's cap.")
        ]
        let files = FileManager.default.enumerator(at: Checkout.file("Sources"), includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: pattern) {
                let kind = match.output.3 ?? match.output.1
                found.insert(Metric(name: String(match.output.2), kind: String(kind), help: String(match.output.4)))
            }
        }
        metrics = found.sorted { $0.name < $1.name }
    }

    /// The names under which Prometheus stores the metrics: a histogram has three.
    var series: Set<String> {
        metrics.reduce(into: []) { series, metric in
            series.insert(metric.name)
            guard metric.kind == "histogram" else { return }
            series.formUnion(["_bucket", "_sum", "_count"].map { metric.name + $0 })
        }
    }

    /// Returns all names of metrics in a text.
    ///
    /// The result also contains names of roles and files of the same form.
    static func names(in text: String) -> Set<String> {
        Set(text.matches(of: /\bbellhop_[a-z_]+/).map { String($0.output) })
    }
}
