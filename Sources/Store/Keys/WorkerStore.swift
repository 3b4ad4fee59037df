package import Postgres

/// The tables as workers and schedulers use them; each feature's folder adds its statements.
package struct WorkerStore: Sendable {
    let pool: ConnectionPool
    /// The period for which a claim is valid.
    ///
    /// It exceeds the longest permitted request to a provider.
    let lease: Duration
    /// The time from a breaker's first rejection to its first probe.
    ///
    /// Each rejected probe doubles it, up to five minutes.
    package let firstPause: Duration
    /// The number of users on a page of a fan-out.
    let usersPerPage: Int

    package init(
        pool: ConnectionPool,
        lease: Duration = .seconds(60),
        firstPause: Duration = .seconds(10),
        usersPerPage: Int = 1000
    ) {
        self.pool = pool
        self.lease = lease
        self.firstPause = firstPause
        self.usersPerPage = max(1, usersPerPage)
    }
}

/// The connections to the database, which a process makes once and passes to the stores that it uses.
package typealias ConnectionPool = PostgresPool
