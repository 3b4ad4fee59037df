package import Postgres
package import ServiceRuntime

/// Brings a namespace's schema up to date, or says what is missing.
///
/// Safe to run twice and from two machines at once: one advisory lock serves the whole database, because the roles that
/// the first migration creates belong to every namespace. Safe beside running workers, too, as far as a migration admits
/// their programs: it waits for no lock for longer than they can wait behind it.
package struct Migrator: Sendable {
    let pool: PostgresPool
    let namespace: Namespace
    private let migrations: [Migration]

    /// `pool` connects with the rights of the schema's owner, not of a worker; `migrations` are those of the program.
    package init(pool: PostgresPool, namespace: Namespace, migrations: [Migration] = Migration.all) {
        self.pool = pool
        self.namespace = namespace
        self.migrations = migrations
    }

    /// What the database lacks of this program's schema.
    package enum Status: Sendable, Equatable {
        case current
        /// A newer program has migrated, and what it has applied admits this one.
        case ahead([String])
        case pending([String])
        /// The database was migrated by a program beside which this one cannot run, or a migration's text was changed after
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

    /// Compares without changing anything.
    package func check() async throws(PostgresError) -> Status {
        let (namespace, migrations) = (namespace, migrations)
        return try await pool.withConnection { (connection) throws(PostgresError) in
            try Self.state(connection, namespace).status(for: migrations)
        }
    }

    /// Which programs the database admits; nil where nothing was ever applied.
    package func version() async throws(PostgresError) -> SchemaVersion? {
        let (namespace, migrations) = (namespace, migrations)
        return try await pool.withConnection { (connection) throws(PostgresError) in
            try Self.state(connection, namespace).version(knowing: migrations)
        }
    }

    /// What a run of ``migrate(partitions:)`` did.
    package enum Outcome: Sendable, Equatable {
        case applied([String])
        /// Nothing was changed, and will not be however often it is tried.
        case refused(String)
        /// Nothing, or not all, was changed: something is in the way that will pass.
        case postponed(String)
    }

    /// Applies what is pending, each migration in one transaction, and returns their names.
    ///
    /// `partitions` says over how many tables inbox and ledger are spread; nil leaves them as they are, or makes one of each.
    /// They are laid out when they are made: another number than theirs is refused.
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

    /// "bellhop" in ASCII.
    static let lockKey: Int64 = 0x62_65_6c_6c_68_6f_70
    private static let longestWait = 1_200

    /// Asks again and again: who waits inside one statement has a snapshot, for whose end an index that is built beside
    /// others would wait, and each for the other.
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
            Statement("SELECT to_regclass($1) IS NOT NULL"),
            [.text("\(namespace).schema_migrations")]
        )
        guard try known.boolean(0, 0) else { return SchemaState(applied: [:]) }
        return try SchemaState.read(connection, namespace)
    }
}
