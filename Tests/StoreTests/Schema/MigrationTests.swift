import Foundation
import IntegrationSupport
import Postgres
import ServiceRuntime
import Settings
import TestSupport
import Testing

@testable import Store

@Suite(
    "Migrations",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct MigrationTests {
    @Test("a fresh schema lacks every migration, a migrated one lacks none, and a second run does nothing")
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

    @Test("two hosts that migrate concurrently apply each migration once")
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

    @Test("a migration that was edited after it was applied is rejected")
    func editedMigration() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run("UPDATE schema_migrations SET checksum = 'other' WHERE name = '0003_inbox'")
            let migrator = Migrator(pool: servers.owner, namespace: servers.namespace)
            guard case .diverged(let why) = try await migrator.check() else {
                Issue.record("expected a divergence")
                return
            }
            #expect(why.contains("0003_inbox"))
            #expect(try await migrator.migrate() == .refused(why))
        }
    }

    @Test("a worker can check whether the schema is current but cannot change it")
    func workersRights() async throws {
        try await ServerFixture.withSchema { servers in
            let status = try await Migrator(pool: servers.pool, namespace: servers.namespace).check()
            #expect(status == .current)
            for forbidden in ["DROP TABLE inbox", "DELETE FROM schema_migrations"] {
                await #expect {
                    try await servers.pool.run(Statement(forbidden))
                } throws: { error in
                    (error as? PostgresError)?.sqlState == .privilegeMissing
                }
            }
        }
    }

    @Test("a run without pending migrations requires no right to create schemas")
    func nothingToMake() async throws {
        try await ServerFixture.withSchema { servers in
            let outcome = try await Migrator(pool: servers.pool, namespace: servers.namespace).migrate()
            #expect(outcome == .applied([]))
        }
    }

    @Test("an older program runs on a newer schema that admits it and is rejected by one that does not")
    func beside() async throws {
        try await ServerFixture.withSchema { servers in
            let expanding = Migration(
                "9998_more",
                Array("-- admits \(Migration.all.schemaNumber)\nALTER TABLE events ADD hue text;\n".utf8)
            )
            let newer = Self.migrator(servers, [expanding])
            let older = Migrator(pool: servers.pool, namespace: servers.namespace)
            let before = try await newer.check()
            #expect(before == .pending(["9998_more"]))
            let outcome = try await newer.migrate()
            #expect(outcome == .applied(["9998_more"]))
            let admitted = try await older.check()
            #expect(admitted == .ahead(["9998_more"]))
            let version = try await older.version()
            #expect(version == SchemaVersion(number: 9998, admits: Migration.all.schemaNumber))
            let own = Migrator(pool: servers.owner, namespace: servers.namespace)
            let again = try await own.migrate()
            #expect(again == .applied([]), "an older program has nothing to do there")

            let shrinking = Migration("9999_less", Array("ALTER TABLE events DROP hue;\n".utf8))
            let newest = Self.migrator(servers, [expanding, shrinking])
            let shrunk = try await newest.migrate()
            #expect(shrunk == .applied(["9999_less"]))
            let refused = try await older.check()
            guard case .diverged(let why) = refused else {
                Issue.record("expected a divergence")
                return
            }
            #expect(why.contains("9999_less"))
        }
    }

    @Test("a migration that running programs do not support waits for their end, and a supported one does not")
    func runningPrograms() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let own = Heartbeat.Identity(id: "w", role: "worker", version: "0.1.0", host: "north", process: 7)
            try await book.announce(Heartbeat(own, catalogs: "c"))
            let shrinking = Migration("9999_less", Array("CREATE TABLE never_made (a int);\n".utf8))
            let strict = Self.migrator(servers, [shrinking])
            guard case .postponed(let why) = try await strict.migrate() else {
                Issue.record("a worker of the former release runs")
                return
            }
            let words = "a worker of 0.1.0 on north (schema \(Migration.all.schemaNumber)) runs"
            #expect(why.contains(words), "\(why)")
            var last = Heartbeat(own, catalogs: "c")
            last.isDraining = true
            try await book.announce(last)
            guard case .postponed(let draining) = try await strict.migrate() else {
                Issue.record("a worker of the former release drains")
                return
            }
            #expect(draining.contains("(schema \(Migration.all.schemaNumber), draining) runs"), "\(draining)")
            let expanding = Migration("9998_more", Array("-- admits 6\nCREATE TABLE hues (a int);\n".utf8))
            let mild = Self.migrator(servers, [expanding])
            let outcome = try await mild.migrate()
            #expect(outcome == .applied(["9998_more"]))
            try await book.leave("w")
            let later = try await Self.migrator(servers, [expanding, shrinking]).migrate()
            #expect(later == .applied(["9999_less"]))
        }
    }

    @Test("a migration that waits for a table repeatedly gives way to other sessions and finally gets it")
    func busyTable() async throws {
        try await ServerFixture.withSchema { servers in
            let expanding = Migration(
                "9998_more",
                Array("-- admits \(Migration.all.schemaNumber)\nALTER TABLE events ADD hue text;\n".utf8)
            )
            let migrator = Self.migrator(servers, [expanding])
            let holder = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .worker))
            let outcome = try await withThrowingTaskGroup(of: Migrator.Outcome?.self) { group in
                let held = AsyncStream<Void>.makeStream()
                group.addTask {
                    _ = try await holder.transaction { (connection) throws(PostgresError) in
                        _ = try connection.run("SELECT count(*) FROM events", [])
                        held.continuation.finish()
                        // Longer than one wait of the migration.
                        return try connection.run("SELECT pg_sleep(4)", []).count
                    }
                    return nil
                }
                for await _ in held.stream {}
                group.addTask { try await migrator.migrate() }
                var found: Migrator.Outcome?
                for try await outcome in group { found = outcome ?? found }
                return found
            }
            await holder.close()
            #expect(outcome == .applied(["9998_more"]))
        }
    }

    @Test("an index is built without a transaction during writes, and again after an incomplete build")
    func gradual() async throws {
        try await ServerFixture.withSchema { servers in
            let text = """
                -- admits 6
                -- without a transaction
                DROP INDEX CONCURRENTLY IF EXISTS events_by_hue;
                CREATE INDEX CONCURRENTLY events_by_hue ON events (app, planned_at);

                """
            let wrong = Migration("9998_index", Array((text + "SELECT 1 / 0;\n").utf8))
            let migrator = Self.migrator(servers, [wrong])
            await #expect(throws: PostgresError.self) { try await migrator.migrate() }
            let right = Migration("9998_index", Array(text.utf8))
            let mended = Self.migrator(servers, [right])
            async let first = mended.migrate()
            async let second = mended.migrate()
            let outcomes = try await [first, second]
            #expect(outcomes.contains(.applied(["9998_index"])))
            #expect(outcomes.contains(.applied([])))
            let valid = try await servers.count(
                "SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('events_by_hue') AND indisvalid"
            )
            #expect(valid == 1)
        }
    }

    /// Returns the migrator of a later release.
    ///
    /// An index that is built concurrently waits for every transaction of the database, including those of other tests.
    private static func migrator(_ servers: ServerFixture, _ next: [Migration]) -> Migrator {
        Migrator(
            pool: servers.owner.with(statementTimeout: LongestWait.duration),
            namespace: servers.namespace,
            migrations: Migration.all + next
        )
    }

    private static func withFreshNamespace<Value: Sendable>(
        _ body: (PostgresPool, Namespace) async throws -> Value
    ) async throws -> Value {
        let namespace = try #require(Namespace(Servers.uniqueName("m").replacingOccurrences(of: "-", with: "_")))
        let pool = try ServerFixture.makePool(setUp: [])
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

    @Test("an applied but unknown migration is reported as one of another program")
    func newerDatabase() {
        let status = SchemaState(applied: ["9999_future": .init(checksum: "x", admits: nil)]).status(for: Migration.all)
        guard case .diverged(let why) = status else {
            Issue.record("expected a divergence")
            return
        }
        #expect(why.contains("9999_future"))
    }

    @Test("a file states the schemas that it admits, by default its own alone, and whether it uses no transaction")
    func notes() {
        let expanding = Migration("0012_more", Array("-- admits 11\n-- More.\nALTER TABLE a ADD b int;\n".utf8))
        #expect(expanding.number == 12)
        #expect(expanding.admits == 11)
        #expect(!expanding.isGradual)
        let silent = Migration("0013_less", Array("-- Less.\nALTER TABLE a DROP b;\n-- admits 1\n".utf8))
        #expect(silent.admits == 13)
        let boastful = Migration("0014_odd", Array("-- admits 99\n".utf8))
        #expect(boastful.admits == 14)
        let notes = "-- without a transaction\n-- admits 13\n"
        let text = notes + "DROP INDEX a;\n\nCREATE INDEX a\n    ON b (c);\n-- The end.\n"
        let gradual = Migration("0015_index", Array(text.utf8))
        #expect(gradual.isGradual)
        #expect(gradual.statements.count == 2)
        #expect(gradual.statements.last == "\nCREATE INDEX a\n    ON b (c)")
    }

    @Test("a program runs with newer ones as long as every migration unknown to it admits it")
    func admission() {
        let known = Self.files(["0001_a": nil, "0002_b": 1])
        func state(_ foreign: [String: Int?]) -> SchemaState {
            var applied: [String: SchemaState.Applied] = [:]
            for migration in known {
                applied[migration.name] = .init(checksum: migration.checksum, admits: migration.admits)
            }
            for (name, admits) in foreign { applied[name] = .init(checksum: "x", admits: admits) }
            return SchemaState(applied: applied)
        }
        let none = state([:])
        #expect(none.status(for: known) == .current)
        #expect(none.version(knowing: known) == SchemaVersion(number: 2, admits: 1))
        let one = state(["0003_c": 2])
        #expect(one.status(for: known) == .ahead(["0003_c"]))
        #expect(one.version(knowing: known) == SchemaVersion(number: 3, admits: 2))
        let strict = state(["0003_c": 2, "0004_d": 3])
        guard case .diverged(let why) = strict.status(for: known) else {
            Issue.record("0004_d admits no program of schema 2")
            return
        }
        #expect(why.contains("0004_d") && why.contains("admits programs for schema 3"), "\(why)")
        let lacking = SchemaState(applied: ["0003_c": .init(checksum: "x", admits: 1)])
        guard case .diverged = lacking.status(for: known) else {
            Issue.record("a history with a hole belongs to no program")
            return
        }
        let next = SchemaVersion(number: 2, admits: 1).after(Self.files(["0003_c": 2, "0004_d": 3]))
        #expect(next == SchemaVersion(number: 4, admits: 3))
    }

    private static func files(_ admitted: [String: Int?]) -> [Migration] {
        admitted.keys.sorted().map { name in
            let word = (admitted[name] ?? nil).map { "-- admits \($0)\n" } ?? ""
            return Migration(name, Array("\(word)SELECT 1;\n".utf8))
        }
    }
}
