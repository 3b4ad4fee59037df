/// One log message, before it becomes a line.
package struct LogRecord: Sendable, Equatable {
    package var time: Instant
    package var level: LogLevel
    package var label: String
    /// The process, so that a pool can share one stream.
    package var process: Int32
    package var message: String
    package var fields: LogFields

    package init(time: Instant, level: LogLevel, label: String, process: Int32, message: String, fields: LogFields) {
        self.time = time
        self.level = level
        self.label = label
        self.process = process
        self.message = message
        self.fields = fields
    }
}

/// The two forms of `BELLHOP_LOG`.
package enum LogForm: Sendable, Equatable {
    /// One line of text per record.
    case text
    /// One JSON object per line.
    case json
}

/// A destination of log records.
package protocol LogSink: Sendable {
    /// Writes one record.
    ///
    /// It must return in bounded time and must not throw, because no process may fail if its log is not read.
    func write(_ record: LogRecord)
}
