import ServiceRuntime

/// The command `bellhop completions`, which prints a shell's completion script for Bellhop.
///
/// Like the manual pages, the script is generated from the program's own table of commands.
enum CompletionsCommand: Command {
    static let name = "completions"
    static let summary = "Prints a completion script for bash, zsh or fish."
    static let synopsis = ["completions bash", "completions zsh", "completions fish"]

    static func run(_ call: Call) async throws -> ExitCode {
        let commands = call.commands.map { CommandWords(command: $0) }
        switch call.words.operands {
        case ["bash"]: call.shell.print(BashCompletion.script(commands))
        case ["zsh"]: call.shell.print(ZshCompletion.script(commands))
        case ["fish"]: call.shell.print(FishCompletion.script(commands))
        default: throw call.words.misuse("expected bash, zsh or fish")
        }
        return .done
    }
}
