package import Postgres

/// What the lock table of the server must have room for.
///
/// A statement that names a table with partitions may lock all of them and their indexes: several hundred entries with 64.
/// The table has room for `max_locks_per_transaction` entries for each connection that the server admits.
package struct LockTable: Sendable, Equatable {
    /// Over how many tables inbox and ledger are spread; 0 if they are one each.
    package let partitions: Int
    /// `max_locks_per_transaction` of the server.
    package let entries: Int

    package init(partitions: Int, entries: Int) {
        self.partitions = partitions
        self.entries = entries
    }

    /// Entries for each connection that so many partitions need.
    package static func needed(for partitions: Int) -> Int { 4 * partitions }

    /// What to set `max_locks_per_transaction` to; `nil` if it is large enough.
    package var lacking: Int? {
        let needed = Self.needed(for: partitions)
        return entries < needed ? needed : nil
    }
}

extension Migrator {
    /// Reads what the server has, and what the tables of the namespace need.
    package func lockTable() async throws(PostgresError) -> LockTable {
        let rows = try await pool.run(
            """
            SELECT (SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass($1)),
                   current_setting('max_locks_per_transaction')::bigint
            """,
            [.text("\(namespace).ledger")]
        )
        return LockTable(partitions: try rows.number(0, 0), entries: try rows.number(0, 1))
    }
}
