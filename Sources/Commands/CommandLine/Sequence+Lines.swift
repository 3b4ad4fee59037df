extension Sequence where Element: StringProtocol {
    /// These words in lines of at most so many characters, for a terminal: the first behind `lead`, the others behind as
    /// many blanks as `indent` says, or as the lead has characters.
    ///
    /// A word is never cut: one that is too long stands in a line of its own.
    func lines(of width: Int = 100, behind lead: String, indent: Int? = nil) -> [String] {
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
