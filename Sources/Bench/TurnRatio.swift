import BellhopRules
import CLI

/// The ratios of Bellhop's figure to the peer's, turn by turn.
struct TurnRatio {
    private let all: [Double]

    init(_ ours: [Double], _ theirs: [Double]) {
        all = zip(ours, theirs).filter { $1 > 0 }.map { $0 / $1 }.sorted()
    }

    private var median: Double { Quantile.of(all, 0.5) }
    private var least: Double { all.first ?? 0 }
    private var most: Double { all.last ?? 0 }

    var text: String { "\(median.text(digits: 2)) (\(least.text(digits: 2)) to \(most.text(digits: 2)))" }

    var json: JSONValue {
        .members([
            ("median", .decimal(median, digits: 3)), ("least", .decimal(least, digits: 3)),
            ("most", .decimal(most, digits: 3)),
        ])
    }
}
