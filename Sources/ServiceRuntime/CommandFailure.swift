/// The failure of a command: an exit code, and one line for stderr.
package struct CommandFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let exitCode: ExitCode
    package let attempted: String
    package let cameBack: String
    package let whatToDo: String

    /// Creates a failure from its facts.
    ///
    /// - Parameters:
    ///   - exitCode: the exit code for scripts.
    ///   - attempted: the attempted operation, such as `connecting to the broker at 127.0.0.1:5672`.
    ///   - cameBack: the result, without secrets, payloads or bound parameters.
    ///   - whatToDo: the remedy for the operator.
    package init(_ exitCode: ExitCode, attempted: String, cameBack: String, whatToDo: String) {
        self.exitCode = exitCode
        self.attempted = attempted
        self.cameBack = cameBack
        self.whatToDo = whatToDo
    }

    /// The text in one line: control characters in the result are escaped.
    package var description: String { text.escapingControls() }

    /// The text with the line breaks and control characters of the result, for an output that escapes them.
    package var text: String { "\(attempted): \(fact); \(whatToDo)" }

    /// The result without the full stop at its end, since the text continues.
    private var fact: Substring { cameBack.hasSuffix(".") ? cameBack.dropLast() : cameBack[...] }
}

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
