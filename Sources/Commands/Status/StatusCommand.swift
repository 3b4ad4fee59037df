import CLI
import Operations
import Roles
import ServiceRuntime

/// The command `bellhop status [--json]`.
enum StatusCommand: Command {
    static let name = "status"
    static let summary = "Shows problems first, then queues, backlogs, failures and processes."
    static let synopsis = ["status [--watch] [--json]"]
    static let options = [Option.watch, .json]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let setup = try call.setup(requiring: [.amqpURL, .databaseURL])
        let status = try await setup.withPool(as: .admin, name: name, patience: StatusOperations.patience) { pool in
            let operations = try StatusOperations(call.operationsContext(setup, pool))
            if call.words.has("watch") {
                try await call.watch(
                    { await operations.status().lines(fitting: call.shell.output.width) },
                    emphasis: Status.emphasis
                )
            }
            return await operations.status()
        }
        call.answer(status.json, lines: status.lines(fitting: call.shell.output.width), emphasis: Status.emphasis)
        return status.isWhole ? .done : .unavailable
    }
}
