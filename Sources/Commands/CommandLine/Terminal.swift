import Foundation

/// A person at a terminal, who can be asked.
struct Terminal: Sendable {
    /// Shows a question and reads one line; nil at the end of the input.
    var ask: @Sendable (String) -> String?
    /// Shows a line in the place of the one that it showed before.
    var show: @Sendable (String) -> Void

    /// This process's terminal; nil where stdin or stderr is none.
    static var standard: Terminal? {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return nil }
        return Terminal(
            ask: { question in
                FileHandle.standardError.write(Data(question.utf8))
                return readLine()
            },
            // To the beginning of the line, the text, and away with what is left of a longer one.
            show: { FileHandle.standardError.write(Data("\r\($0)\u{1B}[K".utf8)) }
        )
    }
}
