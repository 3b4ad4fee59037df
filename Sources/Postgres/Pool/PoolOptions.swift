/// The settings of a pool: its connections and time limits.
package struct PoolOptions: Sendable {
    package var url: DatabaseURL
    /// The range of the number of connections.
    ///
    /// Connections are opened if callers would have to wait, up to the upper bound. Those above the lower bound are
    /// closed after a minute without work.
    package var size: ClosedRange<Int> = 4...16
    /// The name in `pg_stat_activity`, unless the URL sets another.
    package var applicationName = "bellhop"
    /// Statements for each new connection (`SET ROLE …`, `SET search_path …`, `SET statement_timeout …`).
    ///
    /// A failure counts as a failure to connect.
    package var setUp: [String] = []
    /// The time for which a caller waits for a connection.
    package var acquireTimeout = Duration.seconds(10)
    /// Whether callers wait for that time even if the server rejects connections, or receive the error immediately.
    ///
    /// A service must outlive its server's restart, but an operator at a terminal needs the error.
    package var waitsForServer = true
    /// The time limit for one address to connect and to accept the log-in.
    package var connectTimeout = Duration.seconds(5)
    /// The time limit for a statement.
    ///
    /// The client then cancels it, even if the server no longer answers.
    package var statementTimeout = Duration.seconds(30)
    /// The time without an answer after which the server is checked on a separate connection.
    ///
    /// If it does not answer there either, waiting callers receive an error; `nil` applies only the other limits.
    ///
    /// It serves operators, who must learn within seconds that a server hangs, and who wait if it is only slow.
    package var silence: Duration?
    /// The time for which `close` waits for running work before it is cancelled.
    package var closeTimeout = Duration.seconds(10)
    /// Called on the connection's thread: it must return soon and must not wait for the pool.
    package var observer: @Sendable (PoolEvent) -> Void = { _ in }

    package init(url: DatabaseURL) { self.url = url }

    /// The permitted number of connections, with an upper bound of at least one.
    var allowedSize: ClosedRange<Int> {
        let upper = max(1, size.upperBound)
        return min(max(0, size.lowerBound), upper)...upper
    }

    var recipe: SessionOptions {
        SessionOptions(
            url: url,
            applicationName: applicationName,
            setUp: setUp,
            connectTimeout: connectTimeout,
            statementTimeout: statementTimeout,
            notice: { [observer] in observer(.notice($0)) }
        )
    }
}

/// An event that operators may need to see or count.
package enum PoolEvent: Sendable {
    /// A connection was established.
    case connected
    /// No connection could be made.
    ///
    /// The next attempt follows after `retryIn`, or when a caller needs a connection.
    case refused(PostgresError, retryIn: Duration?)
    /// A connection was given up; the reason is `nil` if it was found dead while idle.
    case lost(PostgresError?)
    /// The server rejected a statement or took too long because of its present state; the connection remains.
    case failed(PostgresError)
    /// The server sent a notice.
    case notice(ServerNotice)
}

/// A snapshot of a pool, for metrics.
package struct PoolOccupancy: Sendable, Hashable {
    package let idle: Int
    package let busy: Int
    /// Connections that are being opened or pause before the next attempt.
    package let opening: Int
    /// Callers without a connection.
    package let waiting: Int
}
