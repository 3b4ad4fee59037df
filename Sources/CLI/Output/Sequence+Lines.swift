package import ServiceRuntime

extension Sequence where Element: StringProtocol {
    /// Fills the words into lines of at most `width` characters for a terminal.
    ///
    /// The first line begins with `lead`. The others begin with `indent` spaces, or as many as the lead has characters.
    ///
    /// A word is never cut. One that is too long has a separate line.
    package func lines(of width: Int = 100, behind lead: String, indent: Int? = nil) -> [String] {
        var lines: [String] = []
        var line = lead
        var hasWord = false
        for word in self {
            if hasWord, line.count + 1 + word.count > width {
                lines.append(line)
                line = String(repeating: " ", count: indent ?? lead.count)
                hasWord = false
            }
            line += (hasWord ? " " : "") + word
            hasWord = true
        }
        return lines + [line]
    }
}

extension PrintedOutput {
    /// Fills prose to the terminal's width, with further lines of a paragraph indented by two columns.
    ///
    /// Without a terminal each paragraph stays one line, for scripts that read it.
    package func filled(_ paragraphs: [String]) -> [String] {
        guard let width else { return paragraphs }
        let room = max(Self.leastWidth, width)
        return paragraphs.flatMap { paragraph -> [String] in
            guard paragraph.count > room else { return [paragraph] }
            let margin = String(paragraph.prefix { $0 == " " })
            return paragraph.split(separator: " ").lines(of: room, behind: margin, indent: margin.count + 2)
        }
    }

    private static let leastWidth = 40
}
