import Postgres
import Settings

/// The applied migrations of a database, compared with those of a program.
///
/// A program has one number, that of its newest migration. The database has a range of admitted numbers: each migration
/// names the oldest program whose statements still work, and the strictest one applies.
struct SchemaState: Sendable {
    /// A migration as recorded in the database.
    struct Applied: Sendable {
        let checksum: String
        /// The oldest admitted number; `nil` if it was applied before the database recorded this.
        ///
        /// It then admits only programs that contain it.
        let admits: Int?
    }

    let applied: [String: Applied]

    /// Returns the status for a program with these migrations.
    func status(for known: [Migration]) -> Migrator.Status {
        for migration in known {
            if let found = applied[migration.name], found.checksum != migration.checksum {
                return .diverged(
                    "migration \(migration.name) was changed after it had been applied: add a new one instead"
                )
            }
        }
        let pending = known.map(\.name).filter { applied[$0] == nil }
        let names = Set(known.map(\.name))
        let foreign = applied.keys.filter { !names.contains($0) }.sorted()
        guard let first = foreign.first else { return pending.isEmpty ? .current : .pending(pending) }
        let number = known.schemaNumber
        let strict = foreign.first { name in (applied[name]?.admits).map { $0 > number } ?? true }
        guard strict == nil, pending.isEmpty else {
            let named = strict ?? first
            let least = applied[named]?.admits.map {
                "it admits programs for schema \($0) and newer, and this one is for \(number)"
            }
            let unknown =
                "the database is of a newer program, or of one from before the first release, which is not carried over"
            return .diverged("migration \(named) is applied but unknown here: \(least ?? unknown)")
        }
        return .ahead(foreign)
    }

    /// Returns the numbers that the database admits; `nil` if no migration was applied.
    func version(knowing known: [Migration]) -> SchemaVersion? {
        let own = Dictionary(known.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let numbers = applied.keys.map { name in own[name]?.number ?? Int(name.prefix { $0.isNumber }) ?? 0 }
        guard let number = numbers.max() else { return nil }
        let admits = applied.map { name, found in own[name]?.admits ?? found.admits ?? number }
        return SchemaVersion(number: number, admits: min(admits.max() ?? number, number))
    }
}

/// The programs that may run on a database.
package struct SchemaVersion: Sendable, Equatable {
    /// The number of the newest migration.
    package let number: Int
    /// The number of the oldest admitted program.
    package let admits: Int

    /// Returns the version after these migrations have also been applied.
    package func after(_ migrations: [Migration]) -> SchemaVersion {
        let later = migrations.filter { $0.number > number }
        let least = later.map(\.admits).max() ?? admits
        return SchemaVersion(number: Swift.max(number, migrations.schemaNumber), admits: Swift.max(admits, least))
    }

    /// The range as text: `6`, or `6 to 8`.
    package var admitted: String { admits == number ? "\(number)" : "\(admits) to \(number)" }
}

extension [Migration] {
    /// The number of a program that was built with these migrations.
    package var schemaNumber: Int { map(\.number).max() ?? 0 }
}

extension SchemaState {
    /// Reads the applied migrations.
    ///
    /// The table may be older than one of its columns.
    static func read(_ connection: PostgresConnection, _ namespace: Namespace) throws(PostgresError) -> SchemaState {
        let rows = try connection.run(
            Statement(
                """
                SELECT name, checksum, (to_jsonb(m) ->> 'admits')::bigint FROM \(namespace).schema_migrations m
                """,
                effect: .reads
            ),
            []
        )
        var applied: [String: Applied] = [:]
        for row in 0..<rows.count {
            let admits = try rows.optionalInteger(row, 2)
            applied[try rows.text(row, 0)] = Applied(
                checksum: try rows.text(row, 1),
                admits: admits.map { Int(clamping: $0) }
            )
        }
        return SchemaState(applied: applied)
    }
}
