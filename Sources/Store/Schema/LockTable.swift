package import Postgres

/// The required size of the server's lock table.
///
/// A statement on a partitioned table may lock all partitions and their indexes: several hundred entries with 64
/// partitions. The lock table has room for `max_locks_per_transaction` entries for each connection that the server
/// admits.
package struct LockTable: Sendable, Equatable {
    /// The number of partitions of inbox and ledger; 0 if they are not partitioned.
    package let partitions: Int
    /// The server's `max_locks_per_transaction`.
    package let entries: Int

    package init(partitions: Int, entries: Int) {
        self.partitions = partitions
        self.entries = entries
    }

    /// Returns the entries per connection that this number of partitions requires.
    package static func needed(for partitions: Int) -> Int { 4 * partitions }

    /// The required value of `max_locks_per_transaction`; `nil` if the current one is large enough.
    package var lacking: Int? {
        let needed = Self.needed(for: partitions)
        return entries < needed ? needed : nil
    }
}

extension Migrator {
    /// Reads the server's setting and the requirement of the namespace's tables.
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
