import Foundation
import Synchronization

/// The output of a command on stdout or stderr, which are otherwise written only by the log.
///
/// The printed text may come from untrusted clients, so that every control character in it is escaped; only this type
/// sends codes to a terminal. A failed write does not end the command, which may be in the middle of a change. Later
/// output is dropped, and the error can be read at the end of the command.
package final class PrintedOutput: Sendable {
    private enum State {
        case open
        /// The output is no longer read: a pipe is closed or a terminal has hung up.
        case unheard
        case failed(because: String)
    }

    package static let standardOutput = PrintedOutput(descriptor: STDOUT_FILENO)
    package static let standardError = PrintedOutput(descriptor: STDERR_FILENO)

    /// Whether the output is a terminal.
    package let isTerminal: Bool
    /// Whether lines are shown with their emphasis: on a capable terminal, unless `NO_COLOR` is set.
    private let hasColours: Bool
    private let write: @Sendable ([UInt8]) -> Int32
    private let columns: @Sendable () -> Int?
    private let rows: @Sendable () -> Int?
    private let state = Mutex(State.open)

    /// Creates an output that passes whole pieces of UTF-8 to `write`, which returns 0 or the number of the system's
    /// error.
    ///
    /// `width` is the width of a terminal with colours; `nil` for no terminal.
    package init(width: Int? = nil, write: @escaping @Sendable ([UInt8]) -> Int32) {
        isTerminal = width != nil
        hasColours = width != nil
        self.write = write
        columns = { width }
        rows = { nil }
    }

    /// Creates the output of a descriptor.
    ///
    /// From now on, a closed pipe is an error of the write and does not end the process.
    private init(descriptor: Int32) {
        ProcessSignal.ignoreBrokenPipes()
        isTerminal = isatty(descriptor) == 1
        let environment = ProcessInfo.processInfo.environment
        hasColours = isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        write = { @Sendable bytes in StandardDescriptor.write(bytes, to: descriptor) }
        columns = { StandardDescriptor.size(of: descriptor)?.columns }
        rows = { StandardDescriptor.size(of: descriptor)?.rows }
    }

    /// The system's text for a failed write; `nil` also if the output is no longer read.
    package var failure: String? {
        state.withLock { state in
            if case .failed(let reason) = state { reason } else { nil }
        }
    }

    /// Whether the output is still written.
    package var isOpen: Bool {
        state.withLock { state in
            if case .open = state { true } else { false }
        }
    }

    /// Prints a text with Bellhop's layout and a final newline.
    package func print(_ text: String) { put(text.printed() + "\n") }

    /// Prints one line, in which newlines are escaped.
    package func print(line: String) { put(line.printedLine() + "\n") }

    /// The width of the terminal in columns; `nil` if there is no terminal or its width is unknown.
    package var width: Int? { columns() }

    /// Prints one line, in which newlines are escaped, with an emphasis if the terminal can show it.
    package func print(line: String, _ emphasis: LineStyle) {
        put(emphasised(line, emphasis) + "\n")
    }

    /// Replaces the terminal's content with these lines, as many as it has room for.
    package func showScreen(_ lines: [(text: String, emphasis: LineStyle)]) {
        let shown = lines.prefix(rows().map { max(1, $0 - 1) } ?? lines.count).map { line in
            // Cut after escaping, because escaped text is longer.
            let text = line.text.printedLine()
            return coloured(columns().map { String(text.prefix($0)) } ?? text, line.emphasis) + Self.clearToEnd
        }
        put(Self.home + shown.joined(separator: "\n") + Self.clearBelow)
    }

    private func emphasised(_ line: String, _ emphasis: LineStyle) -> String {
        coloured(line.printedLine(), emphasis)
    }

    private func coloured(_ text: String, _ emphasis: LineStyle) -> String {
        guard hasColours, let code = emphasis.code, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    /// Prints a question; the answer is typed after it.
    package func ask(_ question: String) { put(question.printedLine()) }

    /// Replaces the line that the last call showed on a terminal.
    ///
    /// The line is cut to the terminal's width, because a wrapped line cannot be replaced.
    package func redraw(_ line: String) {
        let shown = line.printedLine()
        let width = columns().map { max(1, $0 - 1) } ?? shown.count
        put("\r\(shown.prefix(width))\(Self.clearToEnd)")
    }

    private static let clearToEnd = "\u{1B}[K"
    private static let home = "\u{1B}[H"
    private static let clearBelow = "\n\u{1B}[J"

    private func put(_ text: String) {
        state.withLock { state in
            guard case .open = state else { return }
            switch write(Array(text.utf8)) {
            case 0: break
            case EPIPE, EBADF: state = .unheard
            case EIO where isTerminal: state = .unheard
            case let code: state = .failed(because: String(cString: strerror(code)))
            }
        }
    }
}

/// The emphasis of a line, if a terminal can show it.
package enum LineStyle: Sendable, Equatable {
    case plain
    /// The heading of a table.
    case heading
    /// Details of the line above it.
    case faint
    /// A problem that requires action.
    case bad
    case good

    /// The terminal's code for it.
    var code: String? {
        switch self {
        case .plain: nil
        case .heading: "1"
        case .faint: "2"
        case .bad: "31"
        case .good: "32"
        }
    }
}
