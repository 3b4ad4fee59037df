/// How much a log line matters, from the least.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
    /// For whoever debugs Bellhop itself; may be one line per event.
    case debug
    /// What a healthy process does, a few lines a minute.
    case info
    /// A change of state that someone may look for later: started, drained, reconnected.
    case notice
    /// Something was wrong and Bellhop coped.
    case warning
    /// Something is wrong and a person has to look.
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
