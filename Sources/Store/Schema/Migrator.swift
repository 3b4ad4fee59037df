package import Postgres
import ServiceRuntime
package import Settings

/// Migrates a namespace's schema, or reports the missing migrations.
///
/// It is safe to run twice and on two machines concurrently. One advisory lock covers the whole database, because the
/// roles that the first migration creates belong to every namespace. It is also safe while workers run if a migration
/// admits their programs: it waits for no lock for longer than they can wait behind it.
package struct Migrator: Sendable {
    let pool: PostgresPool
    let namespace: Namespace
    private let migrations: [Migration]

    /// `pool` connects with the rights of the schema's owner, not of a worker; `migrations` are the program's.
    package init(pool: PostgresPool, namespace: Namespace, migrations: [Migration] = Migration.all) {
        self.pool = pool
        self.namespace = namespace
        self.migrations = migrations
    }

    /// The difference between the database and the program's schema.
    package enum Status: Sendable, Equatable {
        case current
        /// A newer program has migrated, and its migrations admit this one.
        case ahead([String])
        case pending([String])
        /// The database was migrated by a program that does not admit this one, or a migration's text was changed after
        /// it was applied.
        case diverged(String)

        /// Whether the program may run.
        package var isAdmitted: Bool {
            switch self {
            case .current, .ahead: true
            case .pending, .diverged: false
            }
        }
    }

    /// Compares the schema without changing anything.
    package func check() async throws(PostgresError) -> Status {
        let (namespace, migrations) = (namespace, migrations)
        return try await pool.withConnection { (connection) throws(PostgresError) in
            try Self.state(connection, namespace).status(for: migrations)
        }
    }

    /// Returns the programs that the database admits; `nil` if no migration was applied.
    package func version() async throws(PostgresError) -> SchemaVersion? {
        let (namespace, migrations) = (namespace, migrations)
        return try await pool.withConnection { (connection) throws(PostgresError) in
            try Self.state(connection, namespace).version(knowing: migrations)
        }
    }

    /// The result of ``migrate(partitions:)``.
    package enum Outcome: Sendable, Equatable {
        case applied([String])
        /// Nothing was changed, and a repetition will not help.
        case refused(String)
        /// Nothing, or only a part, was changed because of a temporary obstacle.
        case postponed(String)
    }

    /// Applies the pending migrations, each in one transaction, and returns their names.
    ///
    /// `partitions` is the number of partitions of inbox and ledger; `nil` keeps the existing number, or creates
    /// unpartitioned tables. The number is fixed when the tables are created: a different number is rejected.
    package func migrate(partitions: Int? = nil) async throws(PostgresError) -> Outcome {
        let (namespace, migrations) = (namespace, migrations)
        return try await pool.withConnection { (connection) throws(PostgresError) in
            guard try Self.lock(connection) else {
                return .postponed("another migration has held the lock for ten minutes")
            }
            let outcome: Outcome
            do throws(PostgresError) {
                let work = MigrationRun(connection: connection, namespace: namespace, migrations: migrations)
                outcome = try work.run(partitions: partitions)
            } catch {
                _ = try? connection.run(Statement("SELECT pg_advisory_unlock(\(Self.lockKey))"), [])
                throw error
            }
            _ = try connection.run(Statement("SELECT pg_advisory_unlock(\(Self.lockKey))"), [])
            return outcome
        }
    }

    /// The ASCII codes of "bellhop".
    static let lockKey: Int64 = 0x62_65_6c_6c_68_6f_70
    private static let longestWait = 1_200

    /// Takes the lock by repeated attempts.
    ///
    /// A statement that waits has a snapshot, and an index that is built concurrently waits for the end of that
    /// snapshot, so the two would wait for each other.
    private static func lock(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        for _ in 0..<longestWait {
            let rows = try connection.run(Statement("SELECT pg_try_advisory_lock(\(lockKey))"), [])
            if try rows.boolean(0, 0) { return true }
            try connection.execute("SELECT pg_sleep(0.5)")
        }
        return false
    }

    private static func state(
        _ connection: PostgresConnection,
        _ namespace: Namespace
    ) throws(PostgresError) -> SchemaState {
        let known = try connection.run(
            Statement("SELECT to_regclass($1) IS NOT NULL", effect: .reads),
            [.text("\(namespace).schema_migrations")]
        )
        guard try known.boolean(0, 0) else { return SchemaState(applied: [:]) }
        return try SchemaState.read(connection, namespace)
    }
}

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
