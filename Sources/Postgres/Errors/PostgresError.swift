/// The failure of a statement, a transaction or a connection.
///
/// The text never contains a bound parameter, a row's values or a password. PostgreSQL's DETAIL, which quotes rows, is
/// not read at all. Values that the server quotes in its primary message are withheld.
package struct PostgresError: Error, Sendable, Hashable {
    package let code: Code
    /// The server's SQLSTATE, if the server reported one; also set with `connectionLost` and `cannotConnect`.
    package let sqlState: SQLState?
    /// The attempted operation, its result and, for some codes, a remedy.
    package let message: String
    /// The sentence that nothing was changed, for a statement that is certain to have had no effect.
    ///
    /// It is without interest if nothing was to be changed.
    package let outcome: String?
    /// The violated constraint, if the server named one.
    package let constraint: String?
    /// The table that the server named.
    package let table: String?

    package enum Code: Sendable, Hashable {
        /// No connection could be made; nothing was sent.
        case cannotConnect
        /// The connection was lost, and the work in flight on it certainly had no effect.
        case connectionLost
        /// The connection was lost or silent while a COMMIT or an autocommit write was in flight, which may have taken
        /// effect.
        ///
        /// Repeat it only if a repetition is harmless.
        case outcomeUnknown
        /// The server returned an error.
        ///
        /// The statement, and the transaction around it, had no effect.
        case server(SQLState)
        /// The caller's task was cancelled or the pool was closed; the statement had no effect.
        case cancelled
        /// No connection became free in time, or a statement took too long and was cancelled.
        case timedOut
        /// A parameter or a URL cannot be sent; nothing was sent.
        case invalidParameter
        /// The answer is not what the caller requires: another type, a missing column, a NULL or an open transaction.
        case unexpectedResult
    }

    init(
        _ code: Code,
        _ message: String,
        outcome: String? = nil,
        sqlState: SQLState? = nil,
        constraint: String? = nil,
        table: String? = nil
    ) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.sqlState = sqlState
        self.constraint = constraint
        self.table = table
    }
}

extension PostgresError {
    /// Returns the error with another outcome.
    func with(outcome: String) -> PostgresError {
        PostgresError(code, message, outcome: outcome, sqlState: sqlState, constraint: constraint, table: table)
    }

    /// Whether the same operation may succeed later without any change.
    ///
    /// For `outcomeUnknown`, repeat it only if a repetition is harmless.
    package var isTransient: Bool {
        switch code {
        case .connectionLost, .outcomeUnknown, .timedOut: true
        case .cannotConnect: sqlState?.isTransient ?? true
        case .server(let state): state.isTransient
        case .cancelled, .invalidParameter, .unexpectedResult: false
        }
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String { outcome.map { "\(message) \($0)" } ?? message }

    /// The outcome of a statement that had no effect.
    static let noEffect = "It did not happen."
}
