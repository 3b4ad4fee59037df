import Foundation
import Synchronization

/// What a command says, on stdout or stderr: the one way there beside the log's.
///
/// Whatever is said was perhaps written by a stranger, so every mark in it is escaped; a terminal gets orders from this
/// type alone. A write that fails does not end the command, which may be in the middle of a deed: later words are dropped,
/// and what was wrong can be asked for at its end.
package final class PrintedOutput: Sendable {
    private enum State {
        case open
        /// Nobody reads any more: a pipe is closed, a terminal has hung up.
        case unheard
        case failed(because: String)
    }

    package static let standardOutput = PrintedOutput(descriptor: STDOUT_FILENO)
    package static let standardError = PrintedOutput(descriptor: STDERR_FILENO)

    /// Whether a person may sit behind it.
    package let isTerminal: Bool
    /// Whether lines are shown with their emphasis: on a terminal that can, unless somebody has set `NO_COLOR`.
    private let hasColours: Bool
    private let write: @Sendable ([UInt8]) -> Int32
    private let columns: @Sendable () -> Int?
    private let rows: @Sendable () -> Int?
    private let state = Mutex(State.open)

    /// Hands whole pieces of UTF-8 to `write`, which returns 0 or the number of the system's error.
    ///
    /// `width` is that of a terminal that shows colours; nil for none.
    package init(width: Int? = nil, write: @escaping @Sendable ([UInt8]) -> Int32) {
        isTerminal = width != nil
        hasColours = width != nil
        self.write = write
        columns = { width }
        rows = { nil }
    }

    /// From here on a closed pipe is an error of the write instead of the end of the process.
    private init(descriptor: Int32) {
        ProcessSignal.ignoreBrokenPipes()
        isTerminal = isatty(descriptor) == 1
        let environment = ProcessInfo.processInfo.environment
        hasColours = isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        write = { @Sendable bytes in StandardDescriptor.write(bytes, to: descriptor) }
        columns = { StandardDescriptor.size(of: descriptor)?.columns }
        rows = { StandardDescriptor.size(of: descriptor)?.rows }
    }

    /// Why something could not be said, in the system's words; nil also where nobody listens any more.
    package var failure: String? {
        state.withLock { state in
            if case .failed(let reason) = state { reason } else { nil }
        }
    }

    /// Whether words still arrive.
    package var isOpen: Bool {
        state.withLock { state in
            if case .open = state { true } else { false }
        }
    }

    /// Says a text of our own layout, with a newline at its end.
    package func print(_ text: String) {
        put(text.printed() + "\n")
    }

    /// Says one line, which nothing in it can end.
    package func print(line: String) {
        put(line.printedLine() + "\n")
    }

    /// How wide the terminal is; nil where it is none, or does not know.
    package var width: Int? { columns() }

    /// Says one line, which nothing in it can end, with an emphasis where the reader can see it.
    package func print(line: String, _ emphasis: Emphasis) {
        put(emphasised(line, emphasis) + "\n")
    }

    /// Shows lines in the place of all that the terminal showed before, as many as it has room for.
    package func showScreen(_ lines: [(text: String, emphasis: Emphasis)]) {
        let shown = lines.prefix(rows().map { max(1, $0 - 1) } ?? lines.count).map { line in
            // Cut as it is shown: what is escaped is longer.
            let text = line.text.printedLine()
            return coloured(columns().map { String(text.prefix($0)) } ?? text, line.emphasis) + Self.clearToEnd
        }
        put(Self.home + shown.joined(separator: "\n") + Self.clearBelow)
    }

    private func emphasised(_ line: String, _ emphasis: Emphasis) -> String {
        coloured(line.printedLine(), emphasis)
    }

    private func coloured(_ text: String, _ emphasis: Emphasis) -> String {
        guard hasColours, let code = emphasis.code, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    /// Says a question, whose answer is typed behind it.
    package func ask(_ question: String) {
        put(question.printedLine())
    }

    /// Shows a line of a terminal in the place of the one that the last call showed; cut to its width, since a line that
    /// goes on below cannot be taken back.
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
