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

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rank < right.rank
    }

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
