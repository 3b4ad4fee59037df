/// Quantiles of measured values.
enum Quantile {
    /// Returns the value that the given share of the sorted samples does not exceed.
    static func of(_ sorted: [Double], _ share: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let position = Int((Double(sorted.count) * share).rounded(.up)) - 1
        return sorted[min(max(0, position), sorted.count - 1)]
    }
}
