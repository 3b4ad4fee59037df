import Foundation
import ServiceRuntime

/// A person at a terminal, who can be asked.
struct Terminal: Sendable {
    /// Shows a question and reads one line; nil at the end of the input.
    var ask: @Sendable (String) -> String?
    /// Shows a line in the place of the one that it showed before.
    var show: @Sendable (String) -> Void

    /// This process's terminal; nil where stdin or stderr is none.
    static var standard: Terminal? {
        let output = PrintedOutput.standardError
        guard isatty(STDIN_FILENO) == 1, output.isTerminal else { return nil }
        return Terminal(
            ask: { question in
                output.ask(question)
                return readLine()
            },
            show: { output.redraw($0) }
        )
    }
}
