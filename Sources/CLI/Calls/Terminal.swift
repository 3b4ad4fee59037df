import Foundation
import ServiceRuntime

/// A person at a terminal who can answer questions.
package struct Terminal: Sendable {
    /// Shows a question and reads one line.
    ///
    /// Returns `nil` at the end of the input.
    package var ask: @Sendable (String) -> String?
    /// Replaces the line that it showed before.
    package var show: @Sendable (String) -> Void

    package init(ask: @escaping @Sendable (String) -> String?, show: @escaping @Sendable (String) -> Void) {
        self.ask = ask
        self.show = show
    }

    /// This process's terminal, or `nil` if stdin or stderr is not a terminal.
    package static var standard: Terminal? {
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
