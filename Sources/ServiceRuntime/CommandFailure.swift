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
    package var description: String {
        "\(attempted): \(cameBack); \(whatToDo)".escapingControls()
    }
}
