import BellhopRules
import Postgres
import ServiceRuntime

/// What a command takes from the process around it; tests bring their own.
struct Shell: Sendable {
    var environment: [String: String]
    /// Where answers go.
    var output = PrintedOutput.standardOutput
    /// Where everything else goes: what went wrong, how things come along.
    var complaints = PrintedOutput.standardError
    /// Reads all of stdin; nil where it cannot be read.
    var readInput: @Sendable () -> [UInt8]? = StandardDescriptor.readInput
    /// Who sits at the keyboard; nil where no person does.
    var terminal: Terminal?
    /// Who agrees to an act in a terminal's place: hears how many it is about, by the database's clock when, and what it does
    /// to them.
    var consent: (@Sendable (_ count: Int, _ asOf: Timestamp?, _ deed: String) -> Bool)?
    /// When they saw what they have agreed to: what has come since is not meant.
    var agreedAsOf: Timestamp?
    /// The configuration and a pool with the rights of the desk, where the process around the commands has them ready; they
    /// read and open none of their own then.
    var ground: (configuration: BellhopConfiguration, pool: PostgresPool)?
    /// Under which name the process runs.
    var user = "unknown"

    /// Prints a text of our own layout on stdout.
    func print(_ text: String) {
        output.print(text)
    }

    /// Prints one line on stdout, which nothing in it can end.
    func print(line: String) {
        output.print(line: line)
    }
}
