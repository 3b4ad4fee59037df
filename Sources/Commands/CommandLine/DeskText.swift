import BellhopRules
import ServiceRuntime

/// How the desk writes figures, times and names for people.
enum DeskText {
    /// `12 s ago`, `3 h ago`; `now` for what lies ahead by a clock's difference.
    static func ago(_ moment: Timestamp, _ now: Timestamp) -> String {
        let span = Duration.microseconds(now.microseconds - moment.microseconds)
        return span >= .seconds(1) ? "\(span.roughly) ago" : "now"
    }

    /// `2026-11-21 03:12:04 UTC`.
    static func instant(_ moment: Timestamp) -> String {
        String(moment.description.prefix(19)).replacing("T", with: " ") + " UTC"
    }

    /// A body as JSON, whatever it measures of what a letter may: nil where it is none.
    static func document(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONParser(limits: .init(bytes: 16 << 20, depth: 32)).parse(bytes).get()
    }

    /// One character for each figure, as high as it is large; a point for none.
    static func sparkline(_ figures: [Int]) -> String {
        let largest = figures.max() ?? 0
        return String(
            figures.map { figure -> Character in
                guard figure > 0, largest > 0 else { return "·" }
                // The smallest figure above zero is still seen, the largest fills the line.
                let height = (figure * bars.count + largest - 1) / largest
                return bars[min(max(height, 1), bars.count) - 1]
            }
        )
    }

    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// One line, cut to a width, with an ellipsis where something is missing.
    static func cut(_ text: String, to width: Int) -> String {
        let plain = text.onOneLine
        return plain.count <= width ? plain : plain.prefix(max(0, width - 1)) + "…"
    }

    /// What is said below a list of so many items where there are more.
    static func rest(_ shown: Int, of count: Int, _ noun: String = "item") -> [String] {
        shown < count ? ["\(shown.grouped) of \(count.of(noun)); --limit N shows more."] : []
    }

    /// Why so many items stay where a replay takes the others.
    static func cutBodies(_ count: Int) -> String {
        "\(count.of("item")) cannot be replayed: only the beginning of the body is left; have the producer send it again, "
            + "or edit --file a whole one."
    }

    /// Of each id the shortest beginning, of twelve characters at least, by which it is told from the others.
    static func shortened(_ ids: [String]) -> [String] {
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
    /// `12,431`.
    var grouped: String {
        var digits = String(magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// `1 item`, `12,431 items`.
    func of(_ noun: String) -> String { of(noun, noun + "s") }

    /// `1 delivery`, `12,431 deliveries`.
    func of(_ one: String, _ many: String) -> String {
        "\(grouped) \(self == 1 ? one : many)"
    }
}
