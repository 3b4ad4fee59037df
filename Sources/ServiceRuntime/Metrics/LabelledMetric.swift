import Synchronization

/// A metric with labels: one cell per combination of label values, up to a cap.
///
/// Label values can come from messages. Beyond the cap, every new combination is counted under `other` in all its
/// labels, so that sums stay correct and memory stays bounded. `bellhop_metric_label_overflows_total` reports this.
package final class LabelledMetric<Cell: MetricCell>: Sendable {
    let labels: [String]
    private let cap: Int
    private let overflows: Counter
    private let makeCell: @Sendable () -> Cell
    private let cells = Mutex<[[String]: Cell]>([:])

    init(labels: [String], cap: Int, overflows: Counter, makeCell: @escaping @Sendable () -> Cell) {
        self.labels = labels
        self.cap = cap
        self.overflows = overflows
        self.makeCell = makeCell
    }

    /// Returns the cell of these label values, in the order of the labels.
    ///
    /// Keep the cell if it is used often.
    package func with(_ values: String...) -> Cell { cell(for: values) }

    func cell(for values: [String]) -> Cell {
        // Missing or surplus values are a bug in Bellhop, which must affect a label and not the process.
        let key = values.count == labels.count ? values : Array(repeating: "other", count: labels.count)
        return cells.withLock { cells in
            if let cell = cells[key] { return cell }
            guard cells.count >= cap else { return add(key, to: &cells) }
            overflows.increment()
            let other = Array(repeating: "other", count: labels.count)
            return cells[other] ?? add(other, to: &cells)
        }
    }

    private func add(_ key: [String], to cells: inout [[String]: Cell]) -> Cell {
        let cell = makeCell()
        cells[key] = cell
        return cell
    }

    /// Returns the cells in the order of their label values.
    func series() -> [(values: [String], samples: [MetricSample])] {
        cells.withLock { $0 }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .map { ($0.key, $0.value.samples()) }
    }
}
