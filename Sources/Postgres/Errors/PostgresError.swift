/// What kept a statement, a transaction or a connection from doing its work.
///
/// The text never holds a bound parameter, a row's values or a password: PostgreSQL's DETAIL, which quotes rows, is
/// not read at all, and values that the server quotes in its primary message are withheld.
package struct PostgresError: Error, Sendable, Hashable {
    package let code: Code
    /// What the server said, where it was the server that spoke; also set beside `connectionLost` and `cannotConnect`.
    package let sqlState: SQLState?
    /// What was attempted, what came back, and for some codes what to do.
    package let message: String
    /// The violated constraint, if the server named one.
    package let constraint: String?
    /// The table that the server named.
    package let table: String?

    package enum Code: Sendable, Hashable {
        /// No connection could be made; nothing was sent.
        case cannotConnect
        /// The connection died, and what was under way on it has certainly not happened.
        case connectionLost
        /// The connection died or fell silent while a COMMIT or an autocommit write was under way: it may have
        /// happened. Do it again only where a repetition does no harm.
        case outcomeUnknown
        /// The server refused; the statement, and the transaction around it, did not happen.
        case server(SQLState)
        /// The caller's task was cancelled or the pool closed; the statement did not happen.
        case cancelled
        /// No connection became free in time, or a statement took too long and was taken back.
        case timedOut
        /// A parameter (or a URL) that cannot be sent; nothing was sent.
        case invalidParameter
        /// The answer is not what the caller asked for: another type, no such column, a NULL, an open transaction.
        case unexpectedResult
    }

    init(_ code: Code, _ message: String, sqlState: SQLState? = nil, constraint: String? = nil, table: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
        self.table = table
    }
}

extension PostgresError {
    /// Trying the same again later may succeed with nothing changed.
    ///
    /// For `outcomeUnknown` this holds only where a repetition does no harm.
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
    package var description: String { message }
}
