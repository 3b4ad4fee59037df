import Foundation

/// Formats figures, times and names for people.
package enum HumanText {
    /// Returns one character per figure, with a height in proportion to it, or a dot for 0.
    package static func sparkline(_ figures: [Int]) -> String {
        let largest = figures.max() ?? 0
        return String(
            figures.map { figure -> Character in
                guard figure > 0, largest > 0 else { return "·" }
                // The smallest figure above 0 remains visible, and the largest has the full height.
                let height = (figure * bars.count + largest - 1) / largest
                return bars[min(max(height, 1), bars.count) - 1]
            }
        )
    }

    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns one line, cut to a width, with an ellipsis if text is missing.
    package static func cut(_ text: String, to width: Int) -> String {
        let plain = text.onOneLine
        return plain.count <= width ? plain : plain.prefix(max(0, width - 1)) + "…"
    }

    /// Returns the shortest unambiguous beginning of each id, at least twelve characters.
    package static func shortened(_ ids: [String]) -> [String] {
        var shown = ids
        for length in [40, 36, 33, 24, 16, 12] {
            let counts = Dictionary(ids.map { ($0.prefix(length), 1) }, uniquingKeysWith: +)
            for (index, id) in ids.enumerated() where counts[id.prefix(length)] == 1 {
                shown[index] = String(id.prefix(length))
            }
        }
        return shown
    }
}

extension Int {
    /// The number as `12,431`.
    package var grouped: String {
        var digits = String(magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// Returns `1 item` or `12,431 items`.
    package func of(_ noun: String) -> String { of(noun, noun + "s") }

    /// Returns `1 delivery` or `12,431 deliveries`.
    package func of(_ one: String, _ many: String) -> String {
        "\(grouped) \(self == 1 ? one : many)"
    }
}

extension Double {
    /// Returns the number rounded to `digits` digits after the decimal point, all of them shown.
    package func text(digits: Int) -> String { String(format: "%.\(digits)f", self) }
}
