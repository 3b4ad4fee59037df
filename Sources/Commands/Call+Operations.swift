import BellhopRules
import CLI
import Operations
import Roles
import ServiceRuntime
import Settings
import Store

extension Call {
    /// The command line as the input of an operation: the operands after the verb are its items.
    var fields: OperationFields {
        OperationFields(
            items: Array(words.operands.dropFirst()),
            values: words.values,
            switches: words.switches
        )
    }

    /// Runs a body with the operations on the configured database, and prints its errors as those of a command.
    ///
    /// If the database is unavailable, the failure names the attempted command.
    func withOperations<Value: Sendable>(
        _ attempted: String,
        isAct: Bool,
        _ body: (OperationsContext) async throws -> Value
    ) async throws -> Value {
        let setup = try setup(requiring: [.databaseURL])
        do {
            return try await setup.withOperatorPool(attempted, isAct: isAct) { pool in
                try await body(operationsContext(setup, pool))
            }
        } catch let error as OperationError {
            throw CommandFailure(error, words)
        }
    }

    /// Returns the dependencies of operations, with the time zones of the command's environment.
    func operationsContext(_ setup: CommandContext, _ pool: ConnectionPool) -> OperationsContext {
        let zones = ZoneLibrary(environment: shell.environment)
        return OperationsContext(configuration: setup.configuration, pool: pool, zones: zones)
    }
}

extension CommandFailure {
    /// Creates the failure of a command from the error of its operation.
    init(_ error: OperationError, _ words: Words) {
        switch error.kind {
        case .invalid:
            self = words.misuse(error.attempted.isEmpty ? error.message : "--\(error.text)")
        default:
            self.init(
                error.exitCode,
                attempted: error.attempted,
                cameBack: error.message,
                whatToDo: error.advice
            )
        }
    }
}
