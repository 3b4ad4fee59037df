import BellhopJSON
import Cryptography
import Foundation
package import ServiceRuntime

/// The program `bellhop`.
///
/// It finds the command, runs it, and reports the result as an exit code and one line.
package struct CommandLineTool: Sendable {
    /// All commands, in the order of the help text.
    package let commands: [any Command.Type]
    private let versionLine: String
    private let report: @Sendable (any Error) -> Failure

    /// Creates the program from its commands, and adds the commands that describe the others.
    ///
    /// - Parameters:
    ///   - commands: the commands in the order of the help text.
    ///   - versionLine: the answer of `bellhop version`.
    ///   - report: makes the exit code and the text for an error that a command throws.
    package init(
        _ commands: [any Command.Type],
        versionLine: String,
        report: @escaping @Sendable (any Error) -> Failure
    ) {
        self.commands = commands + [ManualCommand.self, CompletionsCommand.self]
        self.versionLine = versionLine
        self.report = report
    }

    /// Runs the command that the words name, as `main` does.
    package func run(_ words: [String]) async -> ExitCode {
        if !(command(words.first)?.mayBeDumped ?? false) { ProcessMemory.forbidDumps() }
        let shell = CommandEnvironment(
            environment: ProcessInfo.processInfo.environment,
            terminal: Terminal.standard,
            user: ProcessInfo.processInfo.environment["SUDO_USER"] ?? NSUserName()
        )
        return await run(words, shell)
    }

    /// Runs a command and turns a success into a failure if its output could not be written, because a script must not
    /// treat partial output as complete.
    ///
    /// A reader that closed the pipe does not count as a failure, since it had the output that it needed.
    package func run(_ words: [String], _ shell: CommandEnvironment) async -> ExitCode {
        let ending = await perform(words, shell)
        guard let reason = shell.output.failure else { return ending }
        let failure = CommandFailure(
            .tryAgain,
            attempted: "printing on stdout",
            cameBack: reason,
            whatToDo: "the command completed, but its output was cut off; fix stdout and check the result"
        )
        shell.complaints.print(line: "bellhop: \(failure)")
        return [.done, .answerIsNo].contains(ending) ? failure.exitCode : ending
    }

    private func perform(_ words: [String], _ shell: CommandEnvironment) async -> ExitCode {
        guard let name = words.first, !["help", "--help", "-h"].contains(name) else {
            shell.print(overview)
            return .done
        }
        if ["version", "--version"].contains(name) {
            shell.print(versionLine)
            return .done
        }
        let command = command(name)
        do {
            guard let command else { throw unknown(name) }
            if words.dropFirst().contains(where: { $0 == "--help" || $0 == "-h" }) {
                shell.print(command.help(for: Array(words.dropFirst())))
                return .done
            }
            let parsed = try Words(Array(words.dropFirst()), options: command.options, of: command.name)
            let call = Call(words: parsed, shell: shell, commands: commands)
            return try await command.run(call)
        } catch {
            let failure = report(error)
            let log = command.flatMap { RoleLog($0, Array(words.dropFirst()), shell.environment) }
            if let log {
                for line in log.lines(failure) { shell.complaints.print(line: line) }
            } else {
                let paragraphs = "bellhop: \(failure.text)".split(separator: "\n", omittingEmptySubsequences: false)
                shell.complaints.print(shell.complaints.filled(paragraphs.map(String.init)).joined(separator: "\n"))
            }
            return failure.exitCode
        }
    }

    private func command(_ name: String?) -> (any Command.Type)? {
        commands.first { $0.name == name || $0.alias == name }
    }

    private static let versionSummary = "Prints the version of the program, its schema and its messages."

    private var overview: String {
        let summaries = commands.map { ($0.name, $0.summary) } + [("version", Self.versionSummary)]
        let width = summaries.map { $0.0.count }.max() ?? 0
        let lines = summaries.map { name, summary in
            "  " + name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + summary
        }
        return """
            bellhop delivers notifications: from RabbitMQ, by each user's rules, to the app and the device.

            \(lines.joined(separator: "\n"))

            bellhop COMMAND --help explains a command.
            """
    }

    private func unknown(_ name: String) -> CommandFailure {
        let hint = NearestName.find(name, among: commands.map { $0.name }).map { "; did you mean \($0)?" } ?? ""
        return CommandFailure(
            .usage,
            attempted: "finding the command \(name)",
            cameBack: "there is no such command\(hint)",
            whatToDo: "see bellhop --help"
        )
    }
}
