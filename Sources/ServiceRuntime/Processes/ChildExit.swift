/// The end of a child process.
package enum ChildExit: Sendable, Equatable, CustomStringConvertible {
    case exited(Int32)
    case killed(signal: Int32)

    /// The text for the log, with the meaning of Bellhop's exit codes.
    package var description: String {
        switch self {
        case .exited(0): "it was asked to end, and drained"
        case .exited(let code):
            "it ended with exit code \(code)" + (ExitCode(rawValue: code).map { " (\($0.meaning))" } ?? "")
        case .killed(let signal): "it was killed by \(Self.name(of: signal))"
        }
    }

    private static func name(of signal: Int32) -> String {
        guard let name = names[signal] else { return "signal \(signal)" }
        return signal == 9 ? "\(name), by hand or for want of memory" : name
    }

    /// The signal numbers of Linux.
    private static let names: [Int32: String] = [
        1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
        9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
    ]
}

extension ExitCode {
    fileprivate var meaning: String {
        switch self {
        case .done: "done"
        case .answerIsNo: "the answer is no"
        case .usage: "its command line is wrong"
        case .badInput: "its input is wrong"
        case .unavailable: "the broker or the database cannot be reached"
        case .bug: "a bug"
        case .tryAgain: "it did not finish in time"
        case .configuration: "its configuration is wrong"
        }
    }
}
