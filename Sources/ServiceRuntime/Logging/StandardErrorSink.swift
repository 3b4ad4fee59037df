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

/// A file descriptor with writes that never block for long.
///
/// The descriptor's flags are not changed, because the process that started this one shares it: `O_NONBLOCK` would
/// affect that process too. Instead, a pipe or terminal is opened a second time, a socket is written with
/// `MSG_DONTWAIT`, and a file, which never blocks, is written directly.
struct LineOutput: ~Copyable, Sendable {
    private enum WriteMode {
        case direct
        case socket
        case reopened
    }

    private let descriptor: Int32
    private let way: WriteMode

    init(descriptor: Int32) {
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        if kind == S_IFSOCK {
            (self.descriptor, way) = (descriptor, .socket)
            return
        }
        let isPipeOrTerminal = kind == S_IFIFO || isatty(descriptor) == 1
        let own =
            isPipeOrTerminal ? open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1
        // A pipe of another user cannot be opened again. In that case, `poll` before the write keeps nearly every wait
        // short.
        (self.descriptor, way) = own >= 0 ? (own, .reopened) : (descriptor, .direct)
    }

    deinit { if way == .reopened { close(descriptor) } }

    /// Writes the bytes, waiting at most `patience` for room, and returns the number of written bytes.
    func write(_ bytes: [UInt8], patience: Duration) -> Int {
        let deadline = ContinuousClock.now.advanced(by: patience)
        return bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count, hasRoom(until: deadline) {
                let count = writeOnce(UnsafeRawBufferPointer(rebasing: buffer[written...]))
                let code = errno
                if count > 0 {
                    written += count
                } else if count == 0 || ![EINTR, EAGAIN].contains(code) || ContinuousClock.now >= deadline {
                    // Another process may have used the available room. Until the deadline, more may become available.
                    break
                }
            }
            return written
        }
    }

    private func writeOnce(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch way {
        case .direct, .reopened: Foundation.write(descriptor, bytes.baseAddress, bytes.count)
        case .socket:
            send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
    }

    private func hasRoom(until deadline: ContinuousClock.Instant) -> Bool {
        let left = max(0, (deadline - .now).microseconds / 1_000)
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // An error or a hang-up counts as room, because the write then reports the error.
        return poll(&request, 1, Int32(clamping: left)) > 0
    }
}
