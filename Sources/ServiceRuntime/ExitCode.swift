/// The exit code of a command, for scripts.
package enum ExitCode: Int32, Sendable, CaseIterable {
    /// The command succeeded.
    case done = 0
    /// The command ran, and the answer is negative: a check failed or nothing matched.
    case answerIsNo = 1
    /// The command line is invalid.
    case usage = 64
    /// The input is invalid.
    case badInput = 65
    /// The broker or the database is unreachable.
    case unavailable = 69
    /// A bug in Bellhop.
    case bug = 70
    /// The command failed this time; a retry may succeed.
    case tryAgain = 75
    /// The configuration is invalid.
    case configuration = 78
}
