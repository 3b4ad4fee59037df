import AMQP
import BellhopJSON
import CLI
import Operations
import Postgres
import Push
import ServiceRuntime
import Settings
import Store

extension Failure {
    /// Creates the exit code and the text for an error of any kind that a command throws.
    package init(_ error: any Error) {
        let exitCode: ExitCode
        var text = String(describing: error)
        switch error {
        case let failure as CommandFailure: exitCode = failure.exitCode
        case is ConfigurationFaults, is CatalogFailure, is DocumentFaults, is FileFaults: exitCode = .configuration
        case let error as AMQPError: exitCode = error.exitCode
        case let error as StoreError:
            exitCode = error.exitCode
            text = error.textWithAdvice
        default: exitCode = .bug
        }
        self.init(exitCode: exitCode, text: text)
    }
}

extension CommandFailure {
    /// Creates the failure that reports an unreachable server, with the attempted operation and advice for the outage.
    ///
    /// It is `nil` for every other error.
    package init?(unreachable error: any Error, attempted: String, isAct: Bool, whatToDo: String) {
        guard error is StoreError || error is AMQPError, Failure(error).exitCode == .unavailable else { return nil }
        // The broker was reached if it rejected the log-in.
        if let refusal = error as? AMQPError, refusal.code == .accessRefused { return nil }
        let text = (error as? StoreError)?.text(isAct: isAct) ?? "\(error)"
        self.init(.unavailable, attempted: attempted, cameBack: text, whatToDo: whatToDo)
    }
}

/// Runs a body.
///
/// If a server is unreachable, it throws a failure with the attempted operation and advice. Only the failure of an act
/// states that nothing was executed.
package func reaching<Value>(
    for attempted: String,
    isAct: Bool,
    whatToDo: String,
    _ body: () async throws -> Value
) async throws -> Value {
    do {
        return try await body()
    } catch {
        throw CommandFailure(unreachable: error, attempted: attempted, isAct: isAct, whatToDo: whatToDo) ?? error
    }
}
