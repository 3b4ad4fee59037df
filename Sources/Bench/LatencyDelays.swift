import BellhopRules
import CLI
import ServiceRuntime

/// The delays of one program's events in milliseconds, one element for each turn.
struct LatencyDelays: Sendable {
    let program: String
    var turns: [[Double]] = []

    private struct Figure {
        let label: String
        let share: Double
        let name: String
    }

    private static let figures = [
        Figure(label: "median", share: 0.5, name: "median"), Figure(label: "p90", share: 0.9, name: "p90"),
        Figure(label: "p99", share: 0.99, name: "p99"), Figure(label: "slowest", share: 1, name: "max"),
    ]

    private func value(of figure: Figure) -> Double { Quantile.of(turns.flatMap(\.self).sorted(), figure.share) }

    /// A line for each figure.
    var lines: [String] {
        Self.figures.map { "  \($0.label)".padding(to: 26) + value(of: $0).text(digits: 2) + " ms" }
    }

    /// All figures in one line.
    var line: String {
        let words = Self.figures.map { "\($0.label) \(value(of: $0).text(digits: 2))" }
        return program.padding(to: 26) + words.joined(separator: ", ") + " ms"
    }

    var json: JSONValue { .members(Self.figures.map { ($0.name, .decimal(value(of: $0), digits: 3)) }) }

    /// Median and p99 of a program divided by those of another, turn by turn.
    static func ratios(_ ours: LatencyDelays, _ theirs: LatencyDelays) -> [(name: String, ratio: TurnRatio)] {
        figures.filter { ["median", "p99"].contains($0.name) }.map { figure in
            func values(_ delays: LatencyDelays) -> [Double] {
                delays.turns.map { Quantile.of($0.sorted(), figure.share) }
            }
            return (figure.name, TurnRatio(values(ours), values(theirs)))
        }
    }
}
