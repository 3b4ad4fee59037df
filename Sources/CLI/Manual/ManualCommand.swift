import BellhopJSON
import ServiceRuntime

/// The command `bellhop manual`, which writes the manual pages for a package to install.
///
/// They are generated from the program's own table of commands, so they always describe the same release.
enum ManualCommand: Command {
    static let name = "manual"
    static let summary = "Prints a manual page (man format) for bellhop or one command."
    static let synopsis = ["manual [COMMAND]", "manual --list"]
    static let options = [Option.switch("list", "print the names of the commands that have a page, and nothing else")]

    static func run(_ call: Call) async throws -> ExitCode {
        if call.words.has("list") {
            try call.words.expectNoOperands()
            for command in call.commands { call.shell.print(line: command.name) }
            return .done
        }
        guard call.words.operands.count <= 1 else { throw call.words.misuse("expected one command, or none") }
        call.shell.print(try page(of: call.words.operands.first, call).text)
        return .done
    }

    private static func page(of name: String?, _ call: Call) throws(CommandFailure) -> ManualPage {
        guard let name else { return .overview(of: call.commands) }
        guard let command = call.commands.first(where: { $0.name == name }) else {
            let hint = NearestName.hint(name, among: call.commands.map { $0.name })
            throw call.words.misuse("there is no command \(name)\(hint)")
        }
        return ManualPage(of: command)
    }
}
