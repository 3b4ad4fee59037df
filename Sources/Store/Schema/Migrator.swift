package import ServiceRuntime
package import Postgres

/// Brings a namespace's schema up to date, or says what is missing.
///
/// Safe to run twice and from two machines at once: one advisory lock serves the whole database, because the roles that
/// the first migration creates belong to every namespace.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let namespace: Namespace

    /// `pool` connects with the rights of the schema's owner, not of a worker.
    package init(pool: PostgresPool, namespace: Namespace) {
        self.pool = pool
        self.namespace = namespace
    }

    /// What the database lacks of this program's schema.
    package enum Status: Sendable, Equatable {
        case current
        case pending([String])
        /// The database was migrated by a newer program, or a migration's text was changed after it was applied.
        case diverged(String)
    }

    /// Compares without changing anything.
    package func check() async throws(PostgresError) -> Status {
        let namespace = namespace
        return try await pool.withConnection { (connection) throws(PostgresError) in
            let known = try connection.run(
                Statement("SELECT to_regclass($1) IS NOT NULL"),
                [.text("\(namespace).schema_migrations")]
            )
            guard try known.boolean(0, 0) else { return .pending(Migration.all.map(\.name)) }
            return Self.status(applied: try Self.applied(connection, namespace))
        }
    }

    /// Applies what is pending, each migration in one transaction, and returns their names.
    ///
    /// `partitions` says over how many tables inbox and ledger are spread; nil leaves them as they are, or makes one of each.
    /// They are laid out when they are made: another number than theirs is refused.
    package func migrate(partitions: Int? = nil) async throws(PostgresError) -> Outcome {
        let namespace = namespace
        return try await pool.withConnection { (connection) throws(PostgresError) in
            _ = try connection.run(Statement("SELECT pg_advisory_lock(\(Self.lockKey))"), [])
            let outcome: Outcome
            do throws(PostgresError) {
                outcome = try Self.migrate(connection, namespace, partitions: partitions)
            } catch {
                _ = try? connection.run(Statement("SELECT pg_advisory_unlock(\(Self.lockKey))"), [])
                throw error
            }
            _ = try connection.run(Statement("SELECT pg_advisory_unlock(\(Self.lockKey))"), [])
            return outcome
        }
    }

    /// What a run of ``migrate()`` did.
    package enum Outcome: Sendable, Equatable {
        case applied([String])
        case refused(String)
    }

    /// "bellhop" in ASCII.
    static let lockKey: Int64 = 0x62_65_6c_6c_68_6f_70

    private static func migrate(
        _ connection: PostgresConnection,
        _ namespace: Namespace,
        partitions: Int?
    ) throws(PostgresError) -> Outcome {
        try connection.execute(
            """
            CREATE SCHEMA IF NOT EXISTS \(namespace);
            CREATE TABLE IF NOT EXISTS \(namespace).schema_migrations (
                name text COLLATE "C" PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
            );
            """
        )
        switch status(applied: try applied(connection, namespace)) {
        case .diverged(let why): return .refused(why)
        case .current:
            return try mismatch(partitions, connection, namespace).map(Outcome.refused) ?? .applied([])
        case .pending(let names):
            for migration in Migration.all where names.contains(migration.name) {
                try apply(migration, connection, namespace, partitions: partitions ?? 0)
            }
            return try mismatch(partitions, connection, namespace).map(Outcome.refused) ?? .applied(names)
        }
    }

    /// What is in the way of so many partitions; nil where the tables have as many, or nobody asked.
    private static func mismatch(
        _ partitions: Int?,
        _ connection: PostgresConnection,
        _ namespace: Namespace
    ) throws(PostgresError) -> String? {
        guard let partitions else { return nil }
        let rows = try connection.run(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass($1)",
            [.text("\(namespace).ledger")]
        )
        let present = try rows.integer(0, 0)
        guard present != Int64(partitions) else { return nil }
        return "the tables have \(present) partitions, not \(partitions), and are laid out only when they are made"
    }

    private static func apply(
        _ migration: Migration,
        _ connection: PostgresConnection,
        _ namespace: Namespace,
        partitions: Int
    ) throws(PostgresError) {
        // A script of several statements is one transaction; the name and the checksum are ours, not a user's.
        do throws(PostgresError) {
            try connection.execute(
                """
                BEGIN;
                SET LOCAL search_path TO \(namespace);
                SET LOCAL bellhop.partitions TO \(partitions);
                \(migration.sql)
                INSERT INTO schema_migrations (name, checksum) VALUES ('\(migration.name)', '\(migration.checksum)');
                COMMIT;
                """
            )
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    private static func applied(
        _ connection: PostgresConnection,
        _ namespace: Namespace
    ) throws(PostgresError) -> [String: String] {
        let rows = try connection.run(Statement("SELECT name, checksum FROM \(namespace).schema_migrations"), [])
        var applied: [String: String] = [:]
        for row in 0..<rows.count {
            applied[try rows.text(row, 0)] = try rows.text(row, 1)
        }
        return applied
    }

    static func status(applied: [String: String]) -> Status {
        let known = Set(Migration.all.map(\.name))
        if let foreign = applied.keys.filter({ !known.contains($0) }).min() {
            return .diverged(
                "migration \(foreign) is applied but unknown here: this program is older than the database"
            )
        }
        for migration in Migration.all {
            if let checksum = applied[migration.name], checksum != migration.checksum {
                return .diverged(
                    "migration \(migration.name) was changed after it had been applied: add a new one instead"
                )
            }
        }
        let pending = Migration.all.map(\.name).filter { applied[$0] == nil }
        return pending.isEmpty ? .current : .pending(pending)
    }
}
