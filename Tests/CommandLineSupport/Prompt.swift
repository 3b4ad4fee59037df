import Bench
package import CLI
import Commands
import Sandbox
package import ServiceRuntime
import TestSupport

extension CommandLineTool {
    /// The program with all its commands, as `main` composes it.
    package static let whole = CommandLineTool.bellhop(with: [SandboxCommand.self, BenchCommand.self])
}

/// A command line in the test process, with a separate environment, and its result.
package struct Prompt: Sendable {
    /// The result of one command.
    package struct Answer: Sendable {
        package let code: ExitCode
        package let output: String
        package let complaints: String
    }

    package var environment: [String: String]
    package var input = ""
    package var terminal: Terminal?

    package init(environment: [String: String] = [:]) {
        self.environment = environment
    }

    package func run(_ words: String...) async -> Answer {
        await run(words)
    }

    /// Runs a command; `columns` is the width of a terminal on which it prints, or `nil` for none.
    package func run(_ words: [String], columns: Int? = nil) async -> Answer {
        let (printed, complained) = (CapturedOutput(), CapturedOutput())
        let shell = CommandEnvironment(
            environment: environment,
            output: columns.map { printed.screen(width: $0) } ?? printed.output,
            complaints: columns.map { complained.screen(width: $0) } ?? complained.output,
            readInput: { [input] in [UInt8](input.utf8) },
            terminal: terminal,
            user: "tester"
        )
        let code = await CommandLineTool.whole.run(words, shell)
        return Answer(code: code, output: printed.text, complaints: complained.text)
    }

    package func with(_ name: String, _ value: String) -> Prompt {
        var other = self
        other.environment[name] = value
        return other
    }
}
