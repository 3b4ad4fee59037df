import Dispatch
import Postgres
import Testing
import TestSupport

@Suite("Errors of the server", .limitedConcurrency, .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence))
struct ServerErrorTests {
    @Test("an error names a violated constraint, but not the row")
    func uniqueViolation() async throws {
        try await DatabaseFixture.withPool { pool in
            try await DatabaseFixture.script("CREATE TABLE people (email text CONSTRAINT one_each UNIQUE)", on: pool)
            let insert: Statement = "INSERT INTO people VALUES ($1)"
            _ = try await pool.run(insert, [.text("ann@example.org")])
            let error = try await DatabaseFixture.error { _ = try await pool.run(insert, [.text("ann@example.org")]) }
            #expect(error.code == .server(.uniqueViolation))
            #expect(error.constraint == "one_each" && error.table == "people")
            #expect(!error.message.contains("ann") && !"\(error)".contains("ann"))
            #expect(error.message.contains("INSERT INTO people") && error.message.contains("23505"))
            #expect(!error.isTransient && error.code != .outcomeUnknown)
            #expect(try await pool.run("SELECT count(*) FROM people").integer(0, 0) == 1)
        }
    }

    @Test("a value that the server cannot read is not repeated")
    func unreadableValue() async throws {
        try await DatabaseFixture.withPool { pool in
            for sql in ["SELECT $1::uuid", "SELECT $1::jsonb", "SELECT ($1::text)::int"] {
                let error = try await DatabaseFixture.error {
                    _ = try await pool.run(Statement(sql), [.text("s3cret")])
                }
                #expect(error.code == .server(.invalidText), "\(sql)")
                #expect(!error.message.contains("s3cret"), "\(error)")
            }
        }
    }

    @Test("a syntax error, an unknown table and an unknown role give different errors")
    func programmingErrors() async throws {
        try await DatabaseFixture.withPool { pool in
            let cases: [(Statement, SQLState)] = [
                ("SELEC 1", .syntaxError), ("SELECT * FROM absent", .tableUnknown),
                ("SET ROLE nobody_of_that_name", .invalidParameterValue),
            ]
            for (statement, state) in cases {
                let error = try await DatabaseFixture.error { _ = try await pool.run(statement) }
                #expect(error.sqlState == state && error.code == .server(state))
                #expect(!error.isTransient)
            }
            #expect(try await pool.run("").isEmpty)
            #expect(try await pool.run("SELECT 1").integer(0, 0) == 1)
        }
    }

    @Test("a constraint that is checked at the end of an autocommit statement fails it")
    func deferredConstraint() async throws {
        try await DatabaseFixture.withPool { pool in
            try await DatabaseFixture.script(
                "CREATE TABLE t (id int CONSTRAINT later UNIQUE DEFERRABLE INITIALLY DEFERRED)",
                on: pool
            )
            let error = try await DatabaseFixture.error { _ = try await pool.run("INSERT INTO t VALUES (1), (1)") }
            #expect(error.code == .server(.uniqueViolation))
            #expect(try await pool.run("SELECT count(*) FROM t").integer(0, 0) == 0)
            // The connection is in step: its next answers belong to their statements.
            #expect(try await pool.run("SELECT 7").integer(0, 0) == 7)
        }
    }

    @Test("one of two deadlocked transactions fails with the deadlock, and the other succeeds")
    func deadlock() async throws {
        try await DatabaseFixture.withPool { pool in
            try await DatabaseFixture.script(
                "CREATE TABLE t (id int, n int); INSERT INTO t VALUES (1, 0), (2, 0)",
                on: pool
            )
            let hasFirst = DispatchSemaphore(value: 0)
            let hasSecond = DispatchSemaphore(value: 0)
            async let one = Self.update([1, 2], on: pool, telling: hasFirst, awaiting: hasSecond)
            async let two = Self.update([2, 1], on: pool, telling: hasSecond, awaiting: hasFirst)
            let failures = await [one, two].compactMap { $0 }
            #expect(failures.map(\.code) == [.server(.deadlock)])
            #expect(failures.map(\.isTransient) == [true])
            #expect(try await pool.run("SELECT sum(n)::int FROM t").integer(0, 0) == 2)
        }
    }

    /// Locks the first row, waits until the other transaction has locked its row, and requests that row.
    private static func update(
        _ ids: [Int64],
        on pool: PostgresPool,
        telling told: DispatchSemaphore,
        awaiting other: DispatchSemaphore
    ) async -> PostgresError? {
        do {
            try await pool.transaction { (connection) throws(PostgresError) in
                for id in ids {
                    _ = try connection.run("UPDATE t SET n = n + 1 WHERE id = $1", [.integer(id)])
                    told.signal()
                    if id == ids.first { _ = other.wait(timeout: .now() + LongestWait.seconds) }
                }
            }
            return nil
        } catch {
            return error
        }
    }

    @Test("a lock that is not granted in time is a transient error")
    func lockTimeout() async throws {
        let key = Parameter.integer(.random(in: 0 ... .max))
        try await DatabaseFixture.withPool(size: 0...1) { holder in
            _ = try await holder.run("SELECT pg_advisory_lock($1)", [key])
            try await DatabaseFixture.withPool(size: 0...1, adjusting: { $0.setUp.append("SET lock_timeout = 500") }) {
                pool in
                let error = try await DatabaseFixture.error {
                    _ = try await pool.run("SELECT pg_advisory_lock($1)", [key])
                }
                #expect(error.code == .server(.lockTimeout))
                #expect(error.isTransient)
            }
        }
    }

    @Test("the server's statement_timeout is reported as the server's, and is transient")
    func statementTimeout() async throws {
        try await DatabaseFixture.withPool(adjusting: { $0.setUp.append("SET statement_timeout = 500") }) { pool in
            let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT pg_sleep(20)") }
            #expect(error.code == .server(.queryCancelled))
            #expect(error.isTransient)
            #expect(try await pool.run("SELECT 1").integer(0, 0) == 1)
        }
    }

    @Test("a statement whose result a migration has changed is prepared again")
    func stalePlan() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            try await DatabaseFixture.script("CREATE TABLE t (a int); INSERT INTO t VALUES (1)", on: pool)
            #expect(try await pool.run("SELECT * FROM t").columnNames == ["a"])
            try await DatabaseFixture.script("ALTER TABLE t ADD COLUMN b text", on: pool)
            #expect(try await pool.run("SELECT * FROM t").columnNames == ["a", "b"])
            try await DatabaseFixture.script("DEALLOCATE ALL", on: pool)
            #expect(try await pool.run("SELECT * FROM t").columnNames == ["a", "b"])

            try await DatabaseFixture.script("ALTER TABLE t ADD COLUMN c text", on: pool)
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("SELECT * FROM t")
                }
            }
            #expect(error.sqlState == .featureNotSupported)
            let rows = try await pool.transaction { (connection) throws(PostgresError) in
                try connection.run("SELECT * FROM t")
            }
            #expect(rows.columnNames == ["a", "b", "c"])
        }
    }

    @Test("a connection forgets its plans before texts made at run time fill the server")
    func manyStatements() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            for number in 0..<600 {
                #expect(try await pool.run(Statement("SELECT \(number)")).integer(0, 0) == Int64(number))
            }
            let kept = try await pool.run("SELECT count(*) FROM pg_prepared_statements").integer(0, 0)
            #expect(kept < 512)
        }
    }

    @Test("warnings and notices are passed to the observer")
    func notices() async throws {
        let heard = Journal<ServerNotice>()
        try await DatabaseFixture.withPool(adjusting: { options in
            options.observer = { event in
                if case .notice(let notice) = event { heard.add(notice) }
            }
        }) { pool in
            try await DatabaseFixture.script(
                "DROP TABLE IF EXISTS absent; DO $$ BEGIN RAISE WARNING 'careful'; END $$",
                on: pool
            )
        }
        let notices = heard.entries
        #expect(notices.map(\.severity) == ["NOTICE", "WARNING"])
        #expect(notices.last?.message == "careful")
        #expect(notices.last?.sqlState?.code == "01000")
    }
}
