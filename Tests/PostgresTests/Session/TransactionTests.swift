import Postgres
import TestSupport
import Testing

@Suite(
    "Transactions, scripts and pipelines",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence)
)
struct TransactionTests {
    private func withTable(_ body: (PostgresPool) async throws -> Void) async throws {
        try await DatabaseFixture.withPool(size: 0...2) { pool in
            try await DatabaseFixture.script(
                "CREATE TABLE t (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, note text)",
                on: pool
            )
            try await body(pool)
        }
    }

    private func count(_ pool: PostgresPool) async throws -> Int64 {
        try await pool.run("SELECT count(*) FROM t").integer(0, 0)
    }

    @Test("a transaction's changes remain after it, and its value is returned")
    func commits() async throws {
        try await withTable { pool in
            let id = try await pool.transaction { (connection) throws(PostgresError) in
                _ = try connection.run("INSERT INTO t VALUES ($1)", [.integer(1)])
                return try connection.run("INSERT INTO t VALUES ($1) RETURNING id", [.integer(2)]).integer(0, 0)
            }
            #expect(id == 2)
            #expect(try await count(pool) == 2)
        }
    }

    @Test("any thrown error rolls everything back, and the connection remains usable")
    func rollsBack() async throws {
        try await withTable { pool in
            let own = try await DatabaseFixture.error { _ = try DatabaseURL("") }
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1)")
                    throw own
                }
            }
            #expect(error == own)
            let refused = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1)")
                    _ = try connection.run("SELECT 1 / 0")
                }
            }
            #expect(refused.sqlState?.code == "22012")
            #expect(try await count(pool) == 0)
            #expect(pool.occupancy.idle >= 1)
        }
    }

    @Test("an ignored error prevents the commit")
    func ignoredError() async throws {
        try await withTable { pool in
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1)")
                    do { _ = try connection.run("SELECT 1 / 0") } catch {}
                }
            }
            #expect(error.code == .unexpectedResult)
            #expect(try await count(pool) == 0)
        }
    }

    @Test("a constraint that COMMIT checks fails the transaction with a known outcome")
    func deferredConstraint() async throws {
        try await withTable { pool in
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1), (1)")
                }
            }
            #expect(error.code == .server(.uniqueViolation))
            #expect(try await count(pool) == 0)
        }
    }

    @Test("a transaction inside another, or one ended by its body, is rejected")
    func misuse() async throws {
        try await withTable { pool in
            let nested = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    try connection.transaction { (_) throws(PostgresError) in }
                }
            }
            #expect(nested.code == .unexpectedResult)
            let ended = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    try connection.execute("ROLLBACK")
                }
            }
            #expect(ended.code == .unexpectedResult)
        }
    }

    @Test("a transaction that a body leaves open is rolled back before the next caller")
    func leftOpen() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            try await DatabaseFixture.script("CREATE TABLE t (id int)", on: pool)
            try await pool.withConnection { (connection) throws(PostgresError) in
                try connection.execute("BEGIN; INSERT INTO t VALUES (1)")
            }
            #expect(try await count(pool) == 0)
        }
    }

    @Test("a script is one transaction, and its error gives the line without the text")
    func scripts() async throws {
        try await withTable { pool in
            let error = try await DatabaseFixture.error {
                try await DatabaseFixture.script(
                    "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2, 's3cret');\nINSERT INTO absent VALUES (3)",
                    on: pool
                )
            }
            #expect(error.sqlState == .tableUnknown)
            #expect(error.message.contains("line 3") && !error.message.contains("s3cret"))
            #expect(try await count(pool) == 0)
            try await DatabaseFixture.script("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)", on: pool)
            #expect(try await count(pool) == 2)
            let nul = try await DatabaseFixture.error {
                try await DatabaseFixture.script("SELECT 1; \0 DROP TABLE t", on: pool)
            }
            #expect(nul.code == .invalidParameter)
        }
    }

    @Test("a script with COPY, which is not supported, costs only the connection")
    func copyInScript() async throws {
        try await withTable { pool in
            _ = try await DatabaseFixture.error { try await DatabaseFixture.script("COPY t FROM STDIN", on: pool) }
            #expect(try await count(pool) == 0)
        }
    }

    @Test("a pipeline answers in order, in one round trip")
    func pipelines() async throws {
        try await withTable { pool in
            let results = try await pool.withConnection { (connection) throws(PostgresError) in
                let insert: Statement = "INSERT INTO t VALUES ($1, $2)"
                return try connection.pipeline([
                    (insert, [.integer(1), .text("a")]), (insert, [.integer(2), .null]),
                    ("SELECT id, note FROM t ORDER BY id", []), (insert, [.integer(3), .text("c")]),
                ])
            }
            #expect(results.map(\.affectedCount) == [1, 1, 2, 1])
            #expect(try results[2].optionalText(0, "note") == "a")
            #expect(try results[2].optionalText(1, "note") == nil)
            #expect(try await count(pool) == 3)
        }
    }

    @Test("an error in the middle of a pipeline undoes all of it, and the connection stays in step")
    func pipelineError() async throws {
        try await withTable { pool in
            let insert: Statement = "INSERT INTO t VALUES ($1, $2)"
            let error = try await DatabaseFixture.error {
                _ = try await pool.withConnection { (connection) throws(PostgresError) in
                    try connection.pipeline([
                        (insert, [.integer(1), .null]), ("SELECT 1 / $1::int", [.integer(0)]),
                        (insert, [.integer(2), .null]),
                    ])
                }
            }
            #expect(error.sqlState?.code == "22012")
            #expect(error.message.contains("SELECT 1 / $1"))
            #expect(try await count(pool) == 0)
        }
    }

    @Test("a constraint that the end of a pipeline checks undoes all of it")
    func pipelineDeferredConstraint() async throws {
        try await withTable { pool in
            let error = try await DatabaseFixture.error {
                _ = try await pool.withConnection { (connection) throws(PostgresError) in
                    try connection.pipeline([("INSERT INTO t VALUES (1), (1)", []), ("SELECT 1", [])])
                }
            }
            #expect(error.code == .server(.uniqueViolation))
            #expect(try await count(pool) == 0)
            #expect(try await pool.run("SELECT 5").integer(0, 0) == 5)
        }
    }

    @Test("a pipeline that cannot be prepared or encoded sends nothing, and an empty one returns nothing")
    func pipelineRefusals() async throws {
        try await withTable { pool in
            let insert: Statement = "INSERT INTO t VALUES ($1, $2)"
            let batches: [[(statement: Statement, parameters: [Parameter])]] = [
                [(insert, [.integer(1), .null]), ("SELEC", [])],
                [(insert, [.integer(1), .null]), (insert, [.integer(2), .text("\0")])],
                [(insert, [.integer(1), .null]), (insert, [])],
            ]
            let codes: [PostgresError.Code] = [.server(.syntaxError), .invalidParameter, .invalidParameter]
            for (batch, code) in zip(batches, codes) {
                let error = try await DatabaseFixture.error {
                    _ = try await pool.withConnection { (connection) throws(PostgresError) in
                        try connection.pipeline(batch)
                    }
                }
                #expect(error.code == code)
            }
            #expect(try await count(pool) == 0)
            let none = try await pool.withConnection { (connection) throws(PostgresError) in
                try connection.pipeline([])
            }
            #expect(none.isEmpty)
        }
    }

    @Test("a pipeline larger than every buffer on its path does not block")
    func largePipeline() async throws {
        try await withTable { pool in
            let text = String(repeating: "x", count: 100_000)
            let results = try await pool.withConnection { (connection) throws(PostgresError) in
                try connection.pipeline(Array(repeating: ("SELECT $1::text", [.text(text)]), count: 200))
            }
            #expect(results.count == 200)
            #expect(try results.allSatisfy { try $0.text(0, 0) == text })
        }
    }

    @Test("a failed pipeline inside a transaction fails the transaction")
    func pipelineInTransaction() async throws {
        try await withTable { pool in
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1)")
                    _ = try connection.pipeline([("SELECT 1", []), ("SELECT 1 / 0", [])])
                }
            }
            #expect(error.sqlState?.code == "22012")
            #expect(try await count(pool) == 0)
        }
    }
}
