/// How a command ends, as scripts see it.
package enum ExitCode: Int32, Sendable, CaseIterable {
    /// It did what was asked.
    case done = 0
    /// It ran, and the answer is no: a check failed, nothing matched.
    case answerIsNo = 1
    /// The command line is wrong.
    case usage = 64
    /// What was handed in is wrong.
    case badInput = 65
    /// The broker or the database cannot be reached.
    case unavailable = 69
    /// A bug.
    case bug = 70
    /// It did not work this time; a repeat may.
    case tryAgain = 75
    /// The configuration is wrong.
    case configuration = 78
}
