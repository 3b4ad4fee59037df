import Postgres
import TestSupport
import Testing

@Suite(
    "Connections lost at the worst moment",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence)
)
struct LossTests {
    private func withTable(
        adjusting adjust: (inout PoolOptions) -> Void = { _ in },
        _ body: (PostgresPool, TCPProxy) async throws -> Void
    ) async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        try await DatabaseFixture.withPool(size: 0...1, through: proxy, adjusting: adjust) { pool in
            try await DatabaseFixture.script("CREATE TABLE t (id int)", on: pool)
            try await body(pool, proxy)
        }
    }

    private func count(_ pool: PostgresPool) async throws -> Int64 {
        try await pool.run(Statement("SELECT count(*) FROM t", effect: .reads)).integer(0, 0)
    }

    @Test("a COMMIT whose answer is lost has an unknown outcome: here it took effect")
    func lostCommit() async throws {
        try await withTable { pool, proxy in
            proxy.loseReply(whenClientSends: Array("COMMIT".utf8))
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error.code == .outcomeUnknown)
            #expect(error.code == .outcomeUnknown && error.isTransient)
            #expect(try await count(pool) == 1)
        }
    }

    @Test("a COMMIT that never reached the server has the same unknown outcome: here it had no effect")
    func lostCommitRequest() async throws {
        try await withTable { pool, proxy in
            proxy.loseRequest(whenClientSends: Array("COMMIT".utf8))
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error.code == .outcomeUnknown)
            #expect(try await count(pool) == 0)
        }
    }

    @Test("an autocommit write whose answer is lost has an unknown outcome, and a read has failed")
    func lostAutocommit() async throws {
        try await withTable { pool, proxy in
            let insert: Statement = "INSERT INTO t SELECT length($1::text)"
            let read = Statement("SELECT length($1::text)", effect: .reads)
            let cases: [(Statement, PostgresError.Code)] = [(insert, .outcomeUnknown), (read, .connectionLost)]
            for (statement, code) in cases {
                proxy.loseReply(whenClientSends: Array("marker-1".utf8))
                let error = try await DatabaseFixture.error { _ = try await pool.run(statement, [.text("marker-1")]) }
                #expect(error.code == code)
                #expect(!error.message.contains("marker-1"))
            }
            #expect(try await count(pool) == 1)
        }
    }

    @Test("a pipeline whose answer is lost has an unknown outcome")
    func lostPipeline() async throws {
        try await withTable { pool, proxy in
            proxy.loseReply(whenClientSends: Array("marker-2".utf8))
            let error = try await DatabaseFixture.error {
                _ = try await pool.withConnection { (connection) throws(PostgresError) in
                    let insert: Statement = "INSERT INTO t SELECT length($1::text)"
                    return try connection.pipeline([(insert, [.text("a")]), (insert, [.text("marker-2")])])
                }
            }
            #expect(error.code == .outcomeUnknown)
            #expect(try await count(pool) == 2)
        }
    }

    @Test("a statement lost in the middle of a transaction has certainly had no effect")
    func lostInTransaction() async throws {
        try await withTable { pool, proxy in
            proxy.loseReply(whenClientSends: Array("marker-3".utf8))
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t SELECT length($1::text)", [.text("marker-3")])
                }
            }
            #expect(error.code == .connectionLost)
            #expect(try await count(pool) == 0)
        }
    }

    @Test("an error ignored inside a transaction does not hide the loss of the connection")
    func swallowedLoss() async throws {
        try await withTable { pool, proxy in
            proxy.loseReply(whenClientSends: Array("marker-4".utf8))
            let error = try await DatabaseFixture.error {
                try await pool.transaction { (connection) throws(PostgresError) in
                    do { _ = try connection.run("SELECT $1::text", [.text("marker-4")]) } catch {}
                }
            }
            #expect(error.code == .connectionLost)
        }
    }

    @Test("a connection cut while idle is replaced before anything is sent on it")
    func cutWhileIdle() async throws {
        try await withTable { pool, proxy in
            for _ in 0..<3 {
                proxy.cutAll()
                _ = try await pool.run("INSERT INTO t VALUES (1)")
            }
            #expect(try await count(pool) == 3)
        }
    }

    @Test("a silent peer is given up in time: a write is unknown and a read has timed out")
    func silence() async throws {
        try await withTable { pool, proxy in
            let brief = pool.with(statementTimeout: .seconds(1))
            let cases: [(Statement, PostgresError.Code)] = [
                (Statement("INSERT INTO t VALUES (1)"), .outcomeUnknown),
                (Statement("SELECT 1", effect: .reads), .timedOut),
            ]
            for (statement, code) in cases {
                // Prepared first, because a statement that is still being prepared certainly had no effect.
                _ = try await pool.run(statement)
                proxy.blackHole(true)
                let error = try await DatabaseFixture.error { _ = try await brief.run(statement) }
                #expect(error.code == code)
                proxy.cutAll()
                proxy.blackHole(false)
                #expect(try await count(pool) == 1)
            }
        }
    }

    @Test("a caller that gives up on a silent peer returns")
    func cancelledSilence() async throws {
        try await withTable { pool, proxy in
            let read = Statement("SELECT 1", effect: .reads)
            _ = try await pool.run(read)
            proxy.blackHole(true)
            let task = Task { try await pool.run(read) }
            try await eventually("the statement is in progress") { pool.occupancy.busy == 1 }
            task.cancel()
            let error = try await DatabaseFixture.error { _ = try await task.value }
            #expect(error.code == .cancelled)
            proxy.cutAll()
            proxy.blackHole(false)
            #expect(try await count(pool) == 0)
        }
    }

    @Test("callers wait while the server is unavailable, and are served when it is back")
    func outage() async throws {
        try await withTable { pool, proxy in
            proxy.refuse(true)
            proxy.cutAll()
            async let waiting = pool.run("SELECT 7").integer(0, 0)
            let before = proxy.connectionCount
            try await eventually("the pool tries repeatedly") { proxy.connectionCount >= before + 3 }
            #expect(!pool.isHealthy)
            #expect(pool.occupancy.waiting == 1)
            proxy.refuse(false)
            #expect(try await waiting == 7)
            #expect(pool.isHealthy)
        }
    }

    @Test("an outage longer than the acquire timeout is reported as an outage")
    func longOutage() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        proxy.refuse(true)
        var options = PoolOptions(url: try DatabaseFixture.url(through: proxy))
        options.acquireTimeout = .seconds(2)
        let pool = PostgresPool(options)
        let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
        #expect(error.code == .cannotConnect)
        #expect(error.isTransient)
        #expect(await !pool.ping())
        await pool.close()
    }

    @Test("a server that accepts and never answers is given up after the connect timeout")
    func silentServer() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        proxy.blackHole(true)
        var options = PoolOptions(url: try DatabaseFixture.url(through: proxy))
        options.connectTimeout = .milliseconds(100)
        options.acquireTimeout = .seconds(2)
        let pool = PostgresPool(options)
        let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
        #expect(error.code == .cannotConnect)
        #expect(error.message.contains("no answer within 100 ms"))
        await pool.close()
    }

    @Test("a missing database is reported immediately, with its SQLSTATE")
    func unknownDatabase() async throws {
        let pool = PostgresPool(PoolOptions(url: try DatabaseFixture.url(with: ["dbname": "no_such_database"])))
        let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
        #expect(error.code == .cannotConnect)
        #expect(error.sqlState == .databaseUnknown)
        #expect(!error.isTransient)
        await pool.close()
    }

    @Test("the reachable one of several hosts is used")
    func severalHosts() async throws {
        let url = try DatabaseFixture.url()
        let dead = try DatabaseFixture.proxy()
        dead.stop()
        let several = try DatabaseFixture.url(with: [
            "host": "127.0.0.1,\(url["host"] ?? "")",
            "port": "\(dead.port),\(url["port"] ?? "5432")",
            "target_session_attrs": "read-write",
        ])
        let pool = PostgresPool(PoolOptions(url: several))
        #expect(try await pool.run("SELECT 1").count == 1)
        await pool.close()
    }

    @Test("a connection to a read-only server is given up, so that the next attempt can find a writable one")
    func readOnlyServer() async throws {
        try await withTable { pool, proxy in
            try await DatabaseFixture.script("SET default_transaction_read_only = on", on: pool)
            let before = proxy.connectionCount
            let error = try await DatabaseFixture.error { _ = try await pool.run("INSERT INTO t VALUES (1)") }
            #expect(error.code == .server(.readOnlyTransaction))
            #expect(error.isTransient)
            _ = try await pool.run("INSERT INTO t VALUES (1)")
            #expect(proxy.connectionCount == before + 1)
        }
    }
}
