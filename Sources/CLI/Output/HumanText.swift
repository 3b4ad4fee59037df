package import BellhopRules
import ServiceRuntime

/// Formats figures, times and names for people, in the dead-letter commands and others.
package enum HumanText {
    /// Returns a text such as `12 s ago` or `3 h ago`.
    ///
    /// It is `now` for a time that is in the future because of clock differences.
    package static func ago(_ moment: Timestamp, _ now: Timestamp) -> String {
        let span = Duration.microseconds(now.microseconds - moment.microseconds)
        return span >= .seconds(1) ? "\(span.roughly) ago" : "now"
    }

    /// Returns an instant such as `2026-11-21 03:12:04 UTC`.
    package static func instant(_ moment: Timestamp) -> String {
        String(moment.description.prefix(19)).replacing("T", with: " ") + " UTC"
    }

    /// Parses a body of up to 16 MiB as JSON, which may exceed the limits for messages.
    ///
    /// Returns `nil` if it is not JSON.
    package static func document(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONParser(limits: .init(bytes: 16 << 20, depth: 32)).parse(bytes).get()
    }

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

    /// Returns the line below a list that shows fewer items than there are.
    package static func rest(_ shown: Int, of count: Int, _ noun: String = "item") -> [String] {
        shown < count ? ["\(shown.grouped) of \(count.of(noun)); --limit N shows more."] : []
    }

    /// Returns the explanation for items that a replay leaves out because their bodies are cut.
    package static func cutBodies(_ count: Int) -> String {
        "\(count.of("item")) cannot be replayed: only the beginning of the body is left; have the producer send it again, "
            + "or edit --file a whole one."
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
