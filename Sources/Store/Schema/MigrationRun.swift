import Postgres
import ServiceRuntime
import Settings

/// One run of the migrations on a connection that has the lock.
struct MigrationRun {
    let connection: PostgresConnection
    let namespace: Namespace
    let migrations: [Migration]

    func run(partitions: Int?) throws(PostgresError) -> Migrator.Outcome {
        try begin()
        let state = try SchemaState.read(connection, namespace)
        var applied: [String] = []
        switch state.status(for: migrations) {
        case .diverged(let why): return .refused(why)
        case .current, .ahead: break
        case .pending(let names):
            let pending = migrations.filter { names.contains($0.name) }
            if let why = try obstacle(pending) { return .postponed(why) }
            for migration in pending {
                guard try applyInTime(migration, partitions: partitions ?? 0) else {
                    return .postponed(
                        "\(migration.name) needs a table lock, and another session held the table for a minute each time"
                    )
                }
            }
            applied = names
        }
        return try mismatch(partitions).map(Migrator.Outcome.refused) ?? .applied(applied)
    }

    /// Creates the schema and the table of migrations.
    ///
    /// If the table exists, it does nothing, since the owner of a schema may lack the right to create another.
    private func begin() throws(PostgresError) {
        let known = try connection.run(
            "SELECT to_regclass($1) IS NOT NULL",
            [.text("\(namespace).schema_migrations")]
        )
        guard try !known.boolean(0, 0) else { return }
        try connection.execute(
            """
            CREATE SCHEMA IF NOT EXISTS \(namespace);
            CREATE TABLE \(namespace).schema_migrations (
                name text COLLATE "C" PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(),
                admits integer
            );
            """
        )
    }

    // MARK: - Obstacles

    /// Returns the processes that the new schema would not admit; `nil` if there are none.
    private func obstacle(_ pending: [Migration]) throws(PostgresError) -> String? {
        let table = try connection.run(
            "SELECT to_regclass($1) IS NOT NULL",
            [.text("\(namespace).processes")]
        )
        guard let least = pending.map(\.admits).max(), try table.boolean(0, 0) else { return nil }
        let rows = try connection.run(
            Statement(
                """
                SELECT p.role, p.host, p.version, (to_jsonb(p) ->> 'schema_version')::bigint,
                       to_jsonb(p) ->> 'draining_since' IS NOT NULL
                FROM \(namespace).processes p
                WHERE p.seen_at > now() - interval '30 s'
                  AND coalesce((to_jsonb(p) ->> 'schema_version')::bigint, 0) < $1
                ORDER BY p.role, p.host, p.id LIMIT \(Self.named + 1)
                """
            ),
            [.integer(Int64(least))]
        )
        guard !rows.isEmpty else { return nil }
        var words: [String] = []
        for row in 0..<min(rows.count, Self.named) {
            let schema = try rows.optionalInteger(row, 3).map { "\($0)" } ?? "unknown"
            let draining = try rows.boolean(row, 4) ? ", draining" : ""
            words.append(
                "a \(try rows.text(row, 0)) of \(try rows.text(row, 2)) on \(try rows.text(row, 1)) "
                    + "(schema \(schema)\(draining))"
            )
        }
        let others = rows.count > Self.named ? " and others" : ""
        return "the new schema permits only programs for schema \(least) or newer, and "
            + words.joined(separator: ", ") + others + " \(rows.count == 1 ? "runs" : "run")"
    }

    private static let named = 5

    /// Returns why the tables cannot have this number of partitions; `nil` if they have it, or if no number was
    /// requested.
    private func mismatch(_ partitions: Int?) throws(PostgresError) -> String? {
        guard let partitions else { return nil }
        let rows = try connection.run(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass($1)",
            [.text("\(namespace).ledger")]
        )
        let present = try rows.integer(0, 0)
        guard present != Int64(partitions) else { return nil }
        return "the tables have \(present) partitions, not \(partitions), and are laid out only when they are made"
    }

    // MARK: - Applying

    /// Applies a migration and returns whether it could be applied.
    ///
    /// If a table is locked, it tries repeatedly with a short timeout, since all other statements wait behind one that
    /// waits for a whole table.
    private func applyInTime(_ migration: Migration, partitions: Int) throws(PostgresError) -> Bool {
        for _ in 0..<Self.tries {
            do throws(PostgresError) {
                try apply(migration, partitions: partitions)
                return true
            } catch {
                guard error.sqlState == .lockTimeout else { throw error }
                try connection.execute("SELECT pg_sleep(1)")
            }
        }
        return false
    }

    private static let tries = 20

    private func apply(_ migration: Migration, partitions: Int) throws(PostgresError) {
        // The name and the checksum are constants of the program, not input.
        let remember = """
            INSERT INTO \(namespace).schema_migrations (name, checksum, admits)
            VALUES ('\(migration.name)', '\(migration.checksum)', \(migration.admits));
            """
        guard !migration.isGradual else {
            try connection.execute("SET search_path TO \(namespace)")
            for statement in migration.statements { try connection.execute(statement) }
            return try connection.execute(remember)
        }
        do throws(PostgresError) {
            // A script of several statements is one transaction.
            try connection.execute(
                """
                BEGIN;
                SET LOCAL search_path TO \(namespace);
                SET LOCAL lock_timeout TO '2s';
                SET LOCAL bellhop.partitions TO \(partitions);
                \(migration.sql)
                \(remember)
                COMMIT;
                """
            )
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }
}
