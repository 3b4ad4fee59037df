import AMQP
import BellhopJSON
import CLI
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
            if let advice = error.advice { text += "; \(advice)" }
        default: exitCode = .bug
        }
        self.init(exitCode: exitCode, text: text)
    }
}

extension CommandFailure {
    /// Creates the failure that reports an unreachable server, with the attempted operation and advice for the outage.
    ///
    /// It is `nil` for every other error.
    package init?(unreachable error: any Error, attempted: String, whatToDo: String) {
        guard error is StoreError || error is AMQPError, Failure(error).exitCode == .unavailable else { return nil }
        // The broker was reached if it rejected the log-in.
        if let refusal = error as? AMQPError, refusal.code == .accessRefused { return nil }
        self.init(.unavailable, attempted: attempted, cameBack: "\(error)", whatToDo: whatToDo)
    }
}

/// Runs a body.
///
/// If a server is unreachable, it throws a failure with the attempted operation and advice.
package func reaching<Value>(
    for attempted: String,
    whatToDo: String,
    _ body: () async throws -> Value
) async throws -> Value {
    do {
        return try await body()
    } catch {
        throw CommandFailure(unreachable: error, attempted: attempted, whatToDo: whatToDo) ?? error
    }
}

extension AMQPError {
    fileprivate var exitCode: ExitCode {
        switch code {
        case .unreachable, .tls, .accessRefused, .connectionClosed, .connectionLost, .timedOut: .unavailable
        case .invalidAddress, .preconditionFailed, .notFound: .configuration
        case .invalidArgument, .channelClosed, .protocolViolation: .bug
        }
    }
}

extension StoreError {
    /// The exit code.
    ///
    /// A rejected log-in or missing privilege persists until the configuration is changed.
    fileprivate var exitCode: ExitCode {
        if isTransient { return .unavailable }
        switch code {
        case .cannotConnect, .invalidParameter: return .configuration
        case .server where isMissingPrivilege || isSchemaMismatch: return .configuration
        default: return .bug
        }
    }

    fileprivate var advice: String? {
        switch code {
        case .cannotConnect where isMissingPrivilege:
            "grant the role to this log-in: see docs/topology.md, The database"
        case .cannotConnect where isUnknownParameter: "run bellhop migrate first, which makes the roles"
        case .cannotConnect where isAnswered && !isTransient: "check \(Setting.databaseURL.environmentName)"
        case _ where isSchemaMismatch:
            "the schema is not this program's: see bellhop migrate --check, or name the right "
                + Setting.namespace.environmentName
        case .timedOut where !isAnswered: "see docs/runbooks/database.md, When it does not answer"
        case .timedOut: "see docs/runbooks/database.md"
        case .cannotConnect where !isAnswered: "see docs/runbooks/database.md"
        case _ where isMissingPrivilege: "log in with the rights for it: see docs/topology.md, The database"
        default: nil
        }
    }
}
