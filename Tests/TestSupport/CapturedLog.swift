package import ServiceRuntime
import Synchronization

/// A sink that keeps the records, for tests that check the log.
package final class CapturedLog: LogSink {
    private let kept = Mutex<[LogRecord]>([])

    package init() {}

    package func write(_ record: LogRecord) {
        kept.withLock { $0.append(record) }
    }

    package var records: [LogRecord] {
        kept.withLock { $0 }
    }

    package var messages: [String] {
        records.map(\.message)
    }

    /// Returns the lines in their written form.
    package func lines(_ form: LogForm = .text) -> [String] {
        records.map(form.line(for:))
    }
}
