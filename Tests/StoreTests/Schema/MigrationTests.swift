import Foundation
import Postgres
import ServiceRuntime
import TestSupport
import Testing
import Workbench

@testable import Store

@Suite(
    "Migrations",
    .inTurn,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.minutes(5))
)
struct MigrationTests {
    @Test("a fresh schema lacks everything, a migrated one nothing, and a second run does nothing")
    func freshThenCurrent() async throws {
        try await Self.withFreshNamespace { pool, namespace in
            let migrator = Migrator(pool: pool, namespace: namespace)
            let before = try await migrator.check()
            let first = try await migrator.migrate()
            let after = try await migrator.check()
            let second = try await migrator.migrate()
            #expect(before == .pending(Migration.all.map(\.name)))
            #expect(first == .applied(Migration.all.map(\.name)))
            #expect(after == .current)
            #expect(second == .applied([]))
        }
    }

    @Test("two machines that migrate at once apply each migration once")
    func twoAtOnce() async throws {
        try await Self.withFreshNamespace { pool, namespace in
            let migrator = Migrator(pool: pool, namespace: namespace)
            async let first = migrator.migrate()
            async let second = migrator.migrate()
            let outcomes = try await [first, second]
            #expect(outcomes.contains(.applied(Migration.all.map(\.name))))
            #expect(outcomes.contains(.applied([])))
        }
    }

    @Test("a migration that was edited after it had been applied is refused")
    func editedMigration() async throws {
        try await Bench.withSchema { bench in
            _ = try await bench.owner.run("UPDATE schema_migrations SET checksum = 'other' WHERE name = '0003_inbox'")
            let migrator = Migrator(pool: bench.owner, namespace: bench.namespace)
            guard case .diverged(let why) = try await migrator.check() else {
                Issue.record("expected a divergence")
                return
            }
            #expect(why.contains("0003_inbox"))
            #expect(try await migrator.migrate() == .refused(why))
        }
    }

    @Test("a worker may ask whether the schema is current, and may not change it")
    func workersRights() async throws {
        try await Bench.withSchema { bench in
            let status = try await Migrator(pool: bench.pool, namespace: bench.namespace).check()
            #expect(status == .current)
            for forbidden in ["DROP TABLE inbox", "DELETE FROM schema_migrations"] {
                await #expect {
                    try await bench.pool.run(Statement(forbidden))
                } throws: { error in
                    (error as? PostgresError)?.sqlState == .privilegeMissing
                }
            }
        }
    }

    private static func withFreshNamespace<Value: Sendable>(
        _ body: (PostgresPool, Namespace) async throws -> Value
    ) async throws -> Value {
        let namespace = try #require(Namespace(Servers.uniqueName("m").replacingOccurrences(of: "-", with: "_")))
        let pool = try Bench.makePool(setUp: [])
        let result: Result<Value, any Error>
        do { result = .success(try await body(pool, namespace)) } catch { result = .failure(error) }
        _ = try? await pool.withConnection { (connection) throws(PostgresError) in
            try connection.execute("SET client_min_messages TO warning; DROP SCHEMA \(namespace) CASCADE")
        }
        await pool.close()
        return try result.get()
    }
}

@Suite("The list of migrations")
struct MigrationListTests {
    @Test("every file of sql/ is compiled in, in order, and nothing else")
    func filesAndList() throws {
        let root = Checkout.root
        let files = try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent("sql").path)
            .filter { $0.hasSuffix(".sql") }.sorted()
        #expect(files == Migration.all.map { "\($0.name).sql" })
        for migration in Migration.all {
            let text = try String(contentsOf: root.appendingPathComponent("sql/\(migration.name).sql"), encoding: .utf8)
            #expect(text == migration.sql)
        }
    }

    @Test("what is applied but unknown is of another program: a newer one, or one from before the first release")
    func newerDatabase() {
        let status = Migrator.status(applied: ["9999_future": "x"])
        guard case .diverged(let why) = status else {
            Issue.record("expected a divergence")
            return
        }
        #expect(why.contains("9999_future"))
    }
}
