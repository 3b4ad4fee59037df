import AMQP
import BellhopJSON
import Postgres
import Push
import ServiceRuntime

/// An error as it ends the program: an exit code, and the text for stderr.
struct Failure {
    let exitCode: ExitCode
    let text: String

    init(_ error: any Error) {
        var text = String(describing: error)
        switch error {
        case let failure as CommandFailure: exitCode = failure.exitCode
        case is ConfigurationFaults, is CatalogFailure, is DocumentFaults, is FileFaults: exitCode = .configuration
        case let error as AMQPError: exitCode = error.exitCode
        case let error as PostgresError:
            exitCode = error.exitCode
            if let advice = error.advice { text += "; \(advice)" }
        default: exitCode = .bug
        }
        self.text = text
    }
}

extension CommandFailure {
    /// What a person reads where a server is away: what they wanted of it, and what they can do meanwhile.
    ///
    /// Nil for every other error.
    init?(unreachable error: any Error, attempted: String, whatToDo: String) {
        guard error is PostgresError || error is AMQPError, Failure(error).exitCode == .unavailable else { return nil }
        // Who is refused the log-in has reached the broker.
        if let refusal = error as? AMQPError, refusal.code == .accessRefused { return nil }
        self.init(.unavailable, attempted: attempted, cameBack: "\(error)", whatToDo: whatToDo)
    }
}

/// Runs a body; of a server that is away it is said what was wanted of it, and what to do.
func reaching<Value>(
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

extension PostgresError {
    /// A server that refuses the log-in, or its rights, does so until somebody configures something.
    fileprivate var exitCode: ExitCode {
        if isTransient { return .unavailable }
        switch code {
        case .cannotConnect, .invalidParameter: return .configuration
        case .server(.privilegeMissing), .server(.tableUnknown), .server(.columnUnknown): return .configuration
        default: return .bug
        }
    }

    fileprivate var advice: String? {
        switch (code, sqlState) {
        case (.cannotConnect, .privilegeMissing?):
            "grant the role to this log-in: see docs/topology.md, The database"
        case (.cannotConnect, .invalidParameterValue?): "run bellhop migrate first, which makes the roles"
        case (.cannotConnect, .some) where !isTransient: "check \(Setting.databaseURL.environmentName)"
        case (_, .tableUnknown?), (_, .columnUnknown?):
            "the schema is not this program's: see bellhop migrate --check, or name the right "
                + Setting.namespace.environmentName
        case (.timedOut, nil): "see docs/runbooks/database.md, When it does not answer"
        case (.timedOut, .some), (.cannotConnect, nil): "see docs/runbooks/database.md"
        case (_, .privilegeMissing?): "log in with the rights for it: see docs/topology.md, The database"
        default: nil
        }
    }
}
