import Foundation

/// Writes structured lines: a message with named values.
///
/// It is a value type: `with(_:)` and `labelled(_:)` create a logger for a part of the process. Messages and fields are
/// evaluated only if the level is enabled.
package struct Logger: Sendable {
    package let label: String
    package let level: LogLevel
    package let fields: LogFields
    private let sink: any LogSink
    private let time: any TimeSource

    package init(
        label: String,
        level: LogLevel = .info,
        sink: any LogSink,
        fields: LogFields = [:],
        time: any TimeSource = SystemTime()
    ) {
        self.label = label
        self.level = level
        self.sink = sink
        self.fields = fields
        self.time = time
    }

    /// Returns the same logger with more fixed fields.
    package func with(_ more: LogFields) -> Logger {
        Logger(label: label, level: level, sink: sink, fields: fields.merging(more), time: time)
    }

    /// Returns the same logger under another label.
    package func labelled(_ label: String) -> Logger {
        Logger(label: label, level: level, sink: sink, fields: fields, time: time)
    }

    package func log(
        _ level: LogLevel,
        _ message: @autoclosure () -> String,
        _ more: @autoclosure () -> LogFields = [:]
    ) {
        guard level >= self.level else { return }
        sink.write(
            LogRecord(
                time: time.now(),
                level: level,
                label: label,
                process: getpid(),
                message: message(),
                fields: fields.merging(more())
            )
        )
    }

    package func debug(_ message: @autoclosure () -> String, _ more: @autoclosure () -> LogFields = [:]) {
        log(.debug, message(), more())
    }

    package func info(_ message: @autoclosure () -> String, _ more: @autoclosure () -> LogFields = [:]) {
        log(.info, message(), more())
    }

    package func notice(_ message: @autoclosure () -> String, _ more: @autoclosure () -> LogFields = [:]) {
        log(.notice, message(), more())
    }

    package func warning(_ message: @autoclosure () -> String, _ more: @autoclosure () -> LogFields = [:]) {
        log(.warning, message(), more())
    }

    package func error(_ message: @autoclosure () -> String, _ more: @autoclosure () -> LogFields = [:]) {
        log(.error, message(), more())
    }
}
