import Foundation
import TestSupport

/// Every metric that the sources register: what a dashboard may ask for.
struct MetricNames {
    struct Metric: Hashable {
        let name: String
        /// `counter`, `gauge` or `histogram`.
        let kind: String
        let help: String
    }

    let metrics: [Metric]

    /// Reads all of `Sources`: a metric is registered where a literal name follows the word of its kind.
    init() throws {
        let pattern =
            /[.\s](counter|gauge|histogram|callback)\(\s*"(bellhop_[a-z_]+)",\s*(?:\.(counter|gauge),\s*)?help:\s*"([^"]*)"/
        // The registry counts by itself what the metrics in it cut off.
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

    /// The names under which Prometheus stores them: a histogram has three.
    var series: Set<String> {
        metrics.reduce(into: []) { series, metric in
            series.insert(metric.name)
            guard metric.kind == "histogram" else { return }
            series.formUnion(["_bucket", "_sum", "_count"].map { metric.name + $0 })
        }
    }

    /// All names of metrics in a text, schemas' roles and file names aside.
    static func names(in text: String) -> Set<String> {
        Set(text.matches(of: /\bbellhop_[a-z_]+/).map { String($0.output) })
    }
}
