package import BellhopRules
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
    /// Replaces the terminal's confirmation of an act.
    ///
    /// It receives the number of items, the time of the count by the database's clock, and the effect of the act.
    package var consent: (@Sendable (_ count: Int, _ asOf: Timestamp?, _ deed: String) -> Bool)?
    /// The time at which the operator saw the items.
    ///
    /// Items that arrived later are excluded from the consent.
    package var agreedAsOf: Timestamp?
    /// The connections of the surrounding process, if it lends them to the commands that it runs.
    ///
    /// The commands then read no configuration and open no connections.
    package var lent: (any Sendable)?
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
