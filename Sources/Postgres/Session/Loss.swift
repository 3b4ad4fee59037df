import ServiceRuntime

/// The end of a session in the middle of an exchange.
struct Loss: Error {
    /// What libpq or the server said about it.
    let message: String
    let sqlState: SQLState?
    /// The server itself announced the end before the statement was through, so that it did not happen.
    let isCertain: Bool
    /// Set if it was we who stopped waiting.
    let reason: Patience.Reason?

    init(_ message: String, sqlState: SQLState? = nil, isCertain: Bool = false, reason: Patience.Reason? = nil) {
        self.message = message
        self.sqlState = sqlState
        self.isCertain = isCertain
        self.reason = reason
    }

    /// What may have happened although no answer came.
    enum Stake {
        /// Nothing lasting: a read, or a statement inside a transaction that can no longer commit.
        case nothing
        /// A statement that is a transaction by itself. Its work is committed after it has completed, so that an end
        /// announced before is a certain no.
        case autocommit
        /// A COMMIT, or a script that may hold one: nothing is certain.
        case commit
    }

    func error(_ attempt: Attempt, _ stake: Stake) -> PostgresError {
        let isUnknown =
            switch stake {
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
            return PostgresError(.timedOut, "\(attempt): \(message) within \(limit.shortText). It did not happen.")
        case .silent(let span):
            return .silent(span, "\(attempt): ", "It did not happen.")
        case nil:
            return PostgresError(
                .connectionLost,
                "\(attempt): \(message). It did not happen and may be tried again.",
                sqlState: sqlState
            )
        }
    }
}

extension PostgresError {
    /// The server answers nothing, new connections neither.
    static func silent(
        _ span: Duration,
        _ attempt: String,
        _ outcome: String,
        sqlState: SQLState? = nil
    ) -> PostgresError {
        let text =
            "\(attempt)the server has answered nothing for \(span.shortText), no new connection either. "
            + outcome
        return PostgresError(.timedOut, text, sqlState: sqlState)
    }

    /// The same to whoever waited for a connection.
    static func silentServer(_ span: Duration) -> PostgresError {
        silent(span, "Waiting for a connection to PostgreSQL: ", "Nothing was sent.")
    }
}
