import BellhopRules
import Postgres
import ServiceRuntime

/// The command's access to the process around it.
///
/// Tests supply replacements.
struct Shell: Sendable {
    var environment: [String: String]
    /// The stream for answers.
    var output = PrintedOutput.standardOutput
    /// The stream for everything else, such as errors and progress.
    var complaints = PrintedOutput.standardError
    /// Reads all of stdin, or returns `nil` if stdin cannot be read.
    var readInput: @Sendable () -> [UInt8]? = StandardDescriptor.readInput
    /// The operator's terminal, or `nil` if no person is present.
    var terminal: Terminal?
    /// Replaces the terminal's confirmation of an act.
    ///
    /// It receives the number of items, the time of the count by the database's clock, and the effect of the act.
    var consent: (@Sendable (_ count: Int, _ asOf: Timestamp?, _ deed: String) -> Bool)?
    /// The time at which the operator saw the items.
    ///
    /// Items that arrived later are excluded from the consent.
    var agreedAsOf: Timestamp?
    /// The configuration and a pool with the operators' rights, if the surrounding process has them.
    ///
    /// The commands then do not read or open their own.
    var ground: (configuration: BellhopConfiguration, pool: PostgresPool)?
    /// The user name of the process.
    var user = "unknown"

    /// Prints a text that Bellhop laid out on stdout.
    func print(_ text: String) {
        output.print(text)
    }

    /// Prints one line on stdout.
    ///
    /// No content can end it.
    func print(line: String) {
        output.print(line: line)
    }
}
