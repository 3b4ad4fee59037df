package import ServiceRuntime

/// The command's access to the process around it.
///
/// Tests supply replacements.
package struct CommandEnvironment: Sendable {
    package var environment: [String: String]
    /// The stream for answers.
    package var output: PrintedOutput
    /// The stream for everything else, such as errors and progress.
    package var complaints: PrintedOutput
    /// Reads all of stdin, or returns `nil` if stdin cannot be read.
    package var readInput: @Sendable () -> [UInt8]?
    /// The operator's terminal, or `nil` if no person is present.
    package var terminal: Terminal?
    /// The user name of the process.
    package var user: String

    package init(
        environment: [String: String],
        output: PrintedOutput = .standardOutput,
        complaints: PrintedOutput = .standardError,
        readInput: @escaping @Sendable () -> [UInt8]? = StandardDescriptor.readInput,
        terminal: Terminal? = nil,
        user: String = "unknown"
    ) {
        self.environment = environment
        self.output = output
        self.complaints = complaints
        self.readInput = readInput
        self.terminal = terminal
        self.user = user
    }

    /// Prints a text that Bellhop laid out on stdout.
    package func print(_ text: String) {
        output.print(text)
    }

    /// Prints one line on stdout.
    ///
    /// No content can end it.
    package func print(line: String) {
        output.print(line: line)
    }
}
