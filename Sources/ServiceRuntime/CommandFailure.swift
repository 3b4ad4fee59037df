/// The end of a command that failed: an exit code, and one line for stderr.
package struct CommandFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let exitCode: ExitCode
    package let attempted: String
    package let cameBack: String
    package let whatToDo: String

    /// - Parameters:
    ///   - exitCode: what a script sees.
    ///   - attempted: what was attempted, such as `connecting to the broker at 127.0.0.1:5672`.
    ///   - cameBack: what came back, without secrets, payloads or bound parameters.
    ///   - whatToDo: what the reader should do now.
    package init(_ exitCode: ExitCode, attempted: String, cameBack: String, whatToDo: String) {
        self.exitCode = exitCode
        self.attempted = attempted
        self.cameBack = cameBack
        self.whatToDo = whatToDo
    }

    /// Always one line: control characters in what came back are escaped.
    package var description: String {
        "\(attempted): \(cameBack); \(whatToDo)".escapingControls()
    }
}
