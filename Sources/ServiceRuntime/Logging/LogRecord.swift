/// One thing that was said, before it becomes a line.
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
    /// A line for people.
    case text
    /// One JSON object a line.
    case json
}

/// Where log records go.
package protocol LogSink: Sendable {
    /// Must return in bounded time and must not throw: nobody may fail because nobody reads the log.
    func write(_ record: LogRecord)
}
