package import Postgres

/// The connections to the database, which a process makes once and passes to the stores that it uses.
package typealias ConnectionPool = PostgresPool
