/// Renders one metric in Prometheus's text format 0.0.4.
struct MetricText {
    let name: String
    let kind: MetricKind
    let help: String
    let labels: [String]

    static func isName(_ name: String) -> Bool {
        name.hasPrefix("bellhop_") && name.count > 8 && isLabel(name)
    }

    static func isLabel(_ label: String) -> Bool {
        let isWord = label.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789_".utf8.contains($0) }
        return isWord && label.first.map { ("a"..."z").contains($0) } ?? false
    }

    /// Returns a number in Prometheus's form: whole numbers without a fraction, infinities as `+Inf` and `-Inf`.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if let whole = Int64(exactly: value), abs(value) < 9e15 { return String(whole) }
        return String(value)
    }

    /// Returns the metric's lines.
    ///
    /// A metric without series is omitted together with its help.
    func render(_ series: [(values: [String], samples: [MetricSample])]) -> String {
        guard !series.isEmpty else { return "" }
        var text = "# HELP \(name) \(escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for (values, samples) in series {
            for sample in samples {
                text += "\(name)\(sample.suffix)\(labelText(values, sample.bound)) \(Self.number(sample.value))\n"
            }
        }
        return text
    }

    private func labelText(_ values: [String], _ bound: String?) -> String {
        var pairs = zip(labels, values).map { "\($0)=\"\(escaped($1, quotes: true))\"" }
        if let bound { pairs.append("le=\"\(bound)\"") }
        return pairs.isEmpty ? "" : "{" + pairs.joined(separator: ",") + "}"
    }

    /// Escapes backslashes and newlines, and double quotes only inside a label's value.
    private func escaped(_ text: String, quotes: Bool) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }
}
