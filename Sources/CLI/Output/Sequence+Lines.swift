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
