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

/// The importance of a log line, in increasing order.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
    /// Details for debugging Bellhop, up to one line per event.
    case debug
    /// The normal activity of a healthy process, a few lines per minute.
    case info
    /// A change of state that operators may search for later: started, drained, reconnected.
    case notice
    /// A problem that Bellhop handled.
    case warning
    /// A problem that requires an operator.
    case error

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .notice: 2
        case .warning: 3
        case .error: 4
        }
    }
}

/// A value of a log field, which keeps its type until it is rendered.
package enum LogValue: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case number(Double)
    case flag(Bool)
    case span(Duration)

    /// Returns the description of an error as one value.
    package static func error(_ error: any Error) -> LogValue { .text(String(describing: error)) }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .flag(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
}

/// Named values in the order in which they were written; a repeated name takes the later value.
package struct LogFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    package private(set) var pairs: [(name: String, value: LogValue)] = []

    package init(dictionaryLiteral elements: (String, LogValue)...) {
        for (name, value) in elements { self[name] = value }
    }

    package subscript(name: String) -> LogValue? {
        get { pairs.first { $0.name == name }?.value }
        set {
            pairs.removeAll { $0.name == name }
            if let newValue { pairs.append((name, newValue)) }
        }
    }

    /// Returns these fields followed by the others.
    package func merging(_ others: LogFields) -> LogFields {
        var merged = self
        for (name, value) in others.pairs { merged[name] = value }
        return merged
    }

    package static func == (left: LogFields, right: LogFields) -> Bool {
        left.pairs.elementsEqual(right.pairs) { $0.name == $1.name && $0.value == $1.value }
    }
}
