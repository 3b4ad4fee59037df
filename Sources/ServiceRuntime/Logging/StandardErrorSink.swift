import Foundation
import Synchronization

/// Writes log lines to a file descriptor, normally stderr: one write per line, one line at a time.
///
/// No caller waits for a reader that has stopped reading. A line waits a quarter of a second for room; while the reader
/// remains stopped, the lines after it do not wait at all. Lost lines are counted, and the count is logged when there
/// is room again.
package final class StandardErrorSink: LogSink {
    private struct State {
        var lost = 0
        /// Whether the last line was cut off in its middle, so that the next one must begin with a newline.
        var isMidLine = false
    }

    private let form: LogForm
    private let output: LineOutput
    private let state = Mutex(State())

    /// Creates a sink.
    ///
    /// From now on, SIGPIPE is ignored: a broken pipe becomes an error of the write and does not end the process.
    package init(form: LogForm, descriptor: Int32 = STDERR_FILENO) {
        ProcessSignal.ignoreBrokenPipes()
        self.form = form
        output = LineOutput(descriptor: descriptor)
    }

    package func write(_ record: LogRecord) {
        let line = form.line(for: record)
        state.withLock { state in
            let patience: Duration = state.lost == 0 ? .milliseconds(250) : .zero
            if state.lost > 0 {
                var notice = record
                notice.level = .warning
                notice.message = "the log could not be written for a while"
                notice.fields = ["lost": .integer(state.lost)]
                guard put(form.line(for: notice), patience: patience, &state) else {
                    state.lost += 1
                    return
                }
                state.lost = 0
            }
            if !put(line, patience: patience, &state) { state.lost += 1 }
        }
    }

    /// Returns `true` if the whole line was written.
    private func put(_ line: String, patience: Duration, _ state: inout State) -> Bool {
        let bytes = Array((state.isMidLine ? "\n" + line : line).utf8)
        let written = output.write(bytes, patience: patience)
        if written > 0 { state.isMidLine = written < bytes.count }
        return written == bytes.count
    }
}
