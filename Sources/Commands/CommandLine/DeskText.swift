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
    static func rest(_ shown: Int, of count: Int) -> [String] {
        shown < count ? ["\(shown.grouped) of \(count.of("item")); --limit N shows more."] : []
    }

    /// Why so many items stay where a replay takes the others.
    static func cutBodies(_ count: Int) -> String {
        "\(count.of("item")) cannot be replayed: only the beginning of the body is left; have the producer send it again, "
            + "or edit --file a whole one."
    }

    /// The shortest beginnings, of twelve characters at least, by which ids are told apart.
    static func shortened(_ ids: [String]) -> [String] {
        for length in [12, 16, 24, 33, 36, 40] where Set(ids.map { $0.prefix(length) }).count == ids.count {
            return ids.map { String($0.prefix(length)) }
        }
        return ids
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
