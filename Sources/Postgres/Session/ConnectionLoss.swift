import ServiceRuntime

/// The end of a session in the middle of an exchange.
struct ConnectionLoss: Error {
    /// The message of libpq or the server.
    let message: String
    let sqlState: SQLState?
    /// Whether the server announced the end before the statement was complete, so that the statement had no effect.
    let isCertain: Bool
    /// The reason for which the client stopped waiting, if it did.
    let reason: Deadline.Reason?

    init(_ message: String, sqlState: SQLState? = nil, isCertain: Bool = false, reason: Deadline.Reason? = nil) {
        self.message = message
        self.sqlState = sqlState
        self.isCertain = isCertain
        self.reason = reason
    }

    /// The possible effect of an operation whose answer was lost.
    enum PossibleEffect {
        /// No lasting effect: a read, or a statement inside a transaction that can no longer commit.
        case nothing
        /// A statement that is a separate transaction.
        ///
        /// Its work is committed after it has completed, so that an end which was announced before proves that it had
        /// no effect.
        case autocommit
        /// A COMMIT, or a script that may contain one: the outcome is always unknown.
        case commit
    }

    func error(_ attempt: SessionOperation, _ effect: PossibleEffect) -> PostgresError {
        let isUnknown =
            switch effect {
            case .nothing: false
            case .autocommit: !isCertain
            case .commit: true
            }
        if isUnknown {
            return PostgresError(
                .outcomeUnknown,
                "\(attempt): \(message). Whether it happened is unknown; repeat it only if that does no harm.",
                sqlState: sqlState
            )
        }
        switch reason {
        case .cancelled:
            return PostgresError(.cancelled, "\(attempt) was cancelled: \(message).")
        case .timedOut(let limit):
            let text = "\(attempt): \(message) within \(limit.shortText)."
            return PostgresError(.timedOut, text, outcome: PostgresError.noEffect)
        case .silent(let span):
            return .silent(span, "\(attempt): ", PostgresError.noEffect)
        case nil:
            return PostgresError(
                .connectionLost,
                "\(attempt): \(message).",
                outcome: "It did not happen and may be tried again.",
                sqlState: sqlState
            )
        }
    }
}

extension PostgresError {
    /// Returns the error for a server that does not answer, not even on new connections.
    static func silent(
        _ span: Duration,
        _ attempt: String,
        _ outcome: String,
        sqlState: SQLState? = nil
    ) -> PostgresError {
        let text =
            "\(attempt)the server has answered nothing for \(span.shortText), no new connection either."
        return PostgresError(.timedOut, text, outcome: outcome, sqlState: sqlState)
    }

    /// Returns the error of a silent server for a caller that waited for a connection.
    static func silentServer(_ span: Duration) -> PostgresError {
        silent(span, "Waiting for a connection to PostgreSQL: ", "Nothing was sent.")
    }
}

/// An operation on a session, which is described in text only if it fails.
enum SessionOperation: CustomStringConvertible {
    case connecting
    case statement(Statement)
    case preparing(Statement)
    /// A script, whose text may contain passwords and does not appear in errors.
    case script(String)
    case command(String)
    case pipeline(Int)

    var description: String {
        switch self {
        case .connecting: "Connecting to PostgreSQL"
        case .statement(let statement): "Running \u{201C}\(statement.summary)\u{201D}"
        case .preparing(let statement): "Preparing \u{201C}\(statement.summary)\u{201D}"
        case .script: "Running a script"
        case .command(let command): command
        case .pipeline(let count): "Running a pipeline of \(count) statements"
        }
    }

    /// Returns the description with the line of the error, if this is a script.
    func located(at position: Int?) -> String {
        guard case .script(let text) = self, let position else { return description }
        let line = text.unicodeScalars.prefix(max(0, position - 1)).reduce(1) { $1 == "\n" ? $0 + 1 : $0 }
        return "\(description) (line \(line))"
    }
}
