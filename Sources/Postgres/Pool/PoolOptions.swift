/// How a pool connects and how patient it is.
package struct PoolOptions: Sendable {
    package var url: DatabaseURL
    /// Connections are opened when callers would have to wait, up to the upper bound; those above the lower bound are
    /// closed again after a minute without work.
    package var size: ClosedRange<Int> = 4...16
    /// Shown in `pg_stat_activity`, unless the URL names another.
    package var applicationName = "bellhop"
    /// Statements for each fresh connection (`SET ROLE …`, `SET search_path …`, `SET statement_timeout …`).
    ///
    /// A failure counts as failure to connect.
    package var setUp: [String] = []
    /// How long a caller waits for a connection.
    package var acquireTimeout = Duration.seconds(10)
    /// Whether callers wait so long for a server that refuses connections too, or are told at once: a service outlives its
    /// server's restart, and a person before a terminal wants to know.
    package var waitsForServer = true
    /// How long one address may take to connect and to let us in.
    package var connectTimeout = Duration.seconds(5)
    /// How long a statement may take before it is cancelled from here, also when the server no longer answers at all.
    package var statementTimeout = Duration.seconds(30)
    /// After how long without an answer the server is looked at, on a connection of its own, and whoever waits is told
    /// where it does not answer that either; nil leaves callers as patient as the other limits are.
    ///
    /// For a person, who wants to know of a server that hangs within seconds, and waits for one that only takes long.
    package var silence: Duration?
    /// How long `close` waits for work under way before it is cancelled.
    package var closeTimeout = Duration.seconds(10)
    /// Called on the connection's thread: it must return soon and must not wait for the pool.
    package var observer: @Sendable (PoolEvent) -> Void = { _ in }

    package init(url: DatabaseURL) {
        self.url = url
    }

    /// At least one connection, whatever was asked for.
    var allowedSize: ClosedRange<Int> {
        let upper = max(1, size.upperBound)
        return min(max(0, size.lowerBound), upper)...upper
    }

    var recipe: SessionRecipe {
        SessionRecipe(
            url: url,
            applicationName: applicationName,
            setUp: setUp,
            connectTimeout: connectTimeout,
            statementTimeout: statementTimeout,
            notice: { [observer] in observer(.notice($0)) }
        )
    }
}

/// What an operator may want to know or count.
package enum PoolEvent: Sendable {
    /// A connection stands.
    case connected
    /// No connection came about; the next attempt follows after the time, or when someone needs one.
    case refused(PostgresError, retryIn: Duration?)
    /// A connection was given up; the reason is nil if it was found dead while idle.
    case lost(PostgresError?)
    /// The server refused a statement, or took too long over it, for the state it is in; the connection stands.
    case failed(PostgresError)
    /// The server remarked something.
    case notice(ServerNotice)
}

/// A pool at one moment, for metrics.
package struct PoolOccupancy: Sendable, Hashable {
    package let idle: Int
    package let busy: Int
    /// Being opened, or pausing before the next attempt.
    package let opening: Int
    /// Callers without a connection.
    package let waiting: Int
}
