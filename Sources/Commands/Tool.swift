import BellhopJSON
import Cryptography
import Foundation
import Pipeline
package import ServiceRuntime
import Store

/// The program `bellhop`.
///
/// It finds the command, runs it, and reports the result as an exit code and one line.
package enum Tool {
    static let commands: [any Command.Type] = [
        UpCommand.self, MigrateCommand.self, TopologyCommand.self, WorkerCommand.self, PoolCommand.self,
        SchedulerCommand.self, APICommand.self, ConsoleCommand.self, StatusCommand.self, PublishCommand.self,
        ValidateCommand.self, CheckConfigCommand.self, SandboxCommand.self,
        BenchCommand.self, QuietCommand.self, NextRunCommand.self, DecideCommand.self, ExplainCommand.self,
        RevokeStaleCommand.self, CheckProviderCommand.self, KeysCommand.self, TokenCommand.self,
        DeadLettersCommand.self, FanoutsCommand.self, HoldCommand.self, ManualCommand.self, CompletionsCommand.self,
    ]

    /// Runs the command that the words name, as `main` does.
    package static func run(_ words: [String]) async -> ExitCode {
        // A benchmark holds no real keys, and developers profile it.
        if words.first != BenchCommand.name { ProcessMemory.forbidDumps() }
        let shell = Shell(
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
    static func run(_ words: [String], _ shell: Shell) async -> ExitCode {
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

    private static func perform(_ words: [String], _ shell: Shell) async -> ExitCode {
        guard let name = words.first, !["help", "--help", "-h"].contains(name) else {
            shell.print(overview)
            return .done
        }
        if ["version", "--version"].contains(name) {
            shell.print("bellhop \(version) (schema \(Migration.all.schemaNumber), messages \(MessageVersion.newest))")
            return .done
        }
        let command = commands.first { $0.name == name || $0.alias == name }
        do {
            guard let command else { throw unknown(name) }
            if words.dropFirst().contains(where: { $0 == "--help" || $0 == "-h" }) {
                shell.print(command.help(for: Array(words.dropFirst())))
                return .done
            }
            let parsed = try Words(Array(words.dropFirst()), options: command.options, of: command.name)
            return try await command.run(Call(words: parsed, shell: shell, commands: commands, run: run))
        } catch {
            let failure = Failure(error)
            let log = command.flatMap { RoleLog($0, Array(words.dropFirst()), shell.environment) }
            if let log {
                for line in log.lines(failure) { shell.complaints.print(line: line) }
            } else {
                shell.complaints.print("bellhop: \(failure.text)")
            }
            return failure.exitCode
        }
    }

    /// The version of this build.
    ///
    /// `CHANGELOG.md` lists its changes.
    package static let version = Release.version

    private static var overview: String {
        let width = commands.map { $0.name.count }.max() ?? 0
        let lines = commands.map {
            "  " + $0.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + $0.summary
        }
        return """
            bellhop delivers notifications: from RabbitMQ, by each user's rules, to the app and the device.

            \(lines.joined(separator: "\n"))

            bellhop COMMAND --help says more about one of them.
            """
    }

    private static func unknown(_ name: String) -> CommandFailure {
        let hint = NearestName.find(name, among: commands.map { $0.name }).map { "; did you mean \($0)?" } ?? ""
        return CommandFailure(
            .usage,
            attempted: "finding the command \(name)",
            cameBack: "there is no such command\(hint)",
            whatToDo: "see bellhop --help"
        )
    }
}
