import Cryptography
import Foundation
import Postgres
import ServiceRuntime
import Settings

/// The database role of a process.
package enum DatabaseRole: String, Sendable {
    /// Records notifications, applies feeds, stores dead letters.
    case worker = "bellhop_worker"
    /// Serves signed-in users their own rows.
    case api = "bellhop_api"
    /// For operators: all rights, including the topology's records.
    case admin = "bellhop_admin"
}

extension Namespace {
    /// Returns the first statements of every connection of a pool: they select this schema and restrict the rights to
    /// the role's.
    package func setUp(as rights: DatabaseRole) -> [String] {
        ["SET search_path TO \(name)", "SET ROLE \(rights.rawValue)"] + planning(for: rights)
    }

    private func planning(for rights: DatabaseRole) -> [String] {
        switch rights {
        case .worker: Self.planning
        // A user's list is read from an index in its order, since sorting would read all rows. The lock timeout
        // prevents many concurrent calls of one user from occupying as many connections.
        case .api: Self.planning + ["SET enable_sort TO off", "SET lock_timeout TO '2s'"]
        case .admin: []
        }
    }

    /// Workers look up rows by key for a whole batch, and the API for one user.
    ///
    /// The generic plan for this requires no statistics and suits every batch.
    ///
    /// By default, the server would plan the first batches of each connection separately and scan tables that it
    /// considers small. Tables that grow faster than their statistics are not small.
    private static let planning = [
        "SET plan_cache_mode TO force_generic_plan", "SET enable_seqscan TO off", "SET enable_memoize TO off",
        // Due rows are read in the order of their index, up to the limit. A bitmap scan would read all of them.
        "SET enable_bitmapscan TO off",
        // If only a full table scan is possible, its estimated cost must not trigger JIT compilation.
        "SET jit TO off",
    ]
}

/// One numbered step of the schema, compiled into the program from `sql/`.
///
/// A program therefore always contains the exact schema for which it was built, without separate files that may be
/// missing.
package struct Migration: Sendable, Equatable {
    package let name: String
    package let sql: String
    /// Detects a file that was changed after it had been applied: migrations are never edited.
    package let checksum: String
    /// The schema's number after the migration: the prefix of its name.
    package let number: Int
    /// The oldest schema whose programs work with this one, from the line `-- admits 6` in the file.
    ///
    /// A file without this line removes something that other programs may need, and admits only programs that contain
    /// it.
    package let admits: Int
    /// Whether it runs statement by statement and outside a transaction, as is required for building an index while
    /// workers run: `-- without a transaction`.
    ///
    /// It may end half-way, so each of its statements must be repeatable.
    package let isGradual: Bool

    package init(_ name: String, _ bytes: [UInt8]) {
        let sql = String(decoding: bytes, as: UTF8.self)
        let number = Int(name.prefix { $0.isNumber }) ?? 0
        let notes = sql.split(separator: "\n").prefix { $0.hasPrefix("--") }
        let words = notes.lazy.filter { $0.hasPrefix(Self.admission) }
        let admitted = words.compactMap { Int($0.dropFirst(Self.admission.count)) }
        self.name = name
        self.sql = sql
        self.number = number
        checksum = SHA256.digest(of: bytes).hexPrefix(bytes: 16)
        admits = min(admitted.first ?? number, number)
        isGradual = notes.contains("-- without a transaction")
    }

    private static let admission = "-- admits "

    /// The single statements, if they do not run together.
    ///
    /// A statement ends with a semicolon at the end of a line.
    var statements: [String] {
        sql.components(separatedBy: ";\n").filter { statement in
            statement.split(separator: "\n").contains { !$0.hasPrefix("--") && !$0.allSatisfy(\.isWhitespace) }
        }
    }

    /// All migrations in the order of their application.
    package static let all: [Migration] = [
        Migration("0001_roles", PackageResources._001_roles_sql),
        Migration("0002_people", PackageResources._002_people_sql),
        Migration("0003_inbox", PackageResources._003_inbox_sql),
        Migration("0004_gateways", PackageResources._004_gateways_sql),
        Migration("0005_desk", PackageResources._005_desk_sql),
        Migration("0006_rights", PackageResources._006_rights_sql),
    ]
}

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
