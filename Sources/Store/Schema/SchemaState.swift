import Postgres
import ServiceRuntime

/// What is applied in a database, beside what a program was built with.
///
/// A program states one number, that of its newest migration. The database states which numbers it admits: each migration
/// says the oldest whose statements still work, and the strictest of them holds.
struct SchemaState: Sendable {
    /// A migration as the database remembers it.
    struct Applied: Sendable {
        let checksum: String
        /// Nil where it was applied before the database kept this: then it admits nobody who does not know it.
        let admits: Int?
    }

    let applied: [String: Applied]

    /// What this means to a program that was built with these migrations.
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

    /// The numbers that the database admits; nil where nothing is applied.
    func version(knowing known: [Migration]) -> SchemaVersion? {
        let own = Dictionary(known.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let numbers = applied.keys.map { name in own[name]?.number ?? Int(name.prefix { $0.isNumber }) ?? 0 }
        guard let number = numbers.max() else { return nil }
        let admits = applied.map { name, found in own[name]?.admits ?? found.admits ?? number }
        return SchemaVersion(number: number, admits: min(admits.max() ?? number, number))
    }
}

/// Which programs may run on a database.
package struct SchemaVersion: Sendable, Equatable {
    /// That of the newest migration.
    package let number: Int
    /// The oldest program's, of those that may run.
    package let admits: Int

    /// The same once these migrations are applied to it, too.
    package func after(_ migrations: [Migration]) -> SchemaVersion {
        let later = migrations.filter { $0.number > number }
        let least = later.map(\.admits).max() ?? admits
        return SchemaVersion(number: Swift.max(number, migrations.schemaNumber), admits: Swift.max(admits, least))
    }

    /// `6`, or `6 to 8`.
    package var admitted: String { admits == number ? "\(number)" : "\(admits) to \(number)" }
}

extension [Migration] {
    /// What a program that was built with them states.
    package var schemaNumber: Int { map(\.number).max() ?? 0 }
}

extension SchemaState {
    /// Reads what is applied; the table may be one from before a column of it.
    static func read(_ connection: PostgresConnection, _ namespace: Namespace) throws(PostgresError) -> SchemaState {
        let rows = try connection.run(
            Statement(
                """
                SELECT name, checksum, (to_jsonb(m) ->> 'admits')::bigint FROM \(namespace).schema_migrations m
                """
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
