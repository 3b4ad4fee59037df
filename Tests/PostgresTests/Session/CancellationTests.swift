import Dispatch
import Postgres
import Testing
import TestSupport

@Suite("Callers that give up", .limitedConcurrency, .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence))
struct CancellationTests {
    @Test("cancelling the task ends the statement at the server, and the connection remains usable")
    func whileRunning() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            try await DatabaseFixture.script("CREATE TABLE t (id int)", on: pool)
            let pid = try await pool.run("SELECT pg_backend_pid()").integer(0, 0)
            let task = Task { try await pool.run("INSERT INTO t SELECT 1 FROM pg_sleep(60)") }
            try await PoolTests.waitUntilSleeping(pid)
            task.cancel()
            let error = try await DatabaseFixture.error { _ = try await task.value }
            #expect(error.code == .cancelled)
            #expect(!error.isTransient)
            let rows = try await pool.run("SELECT pg_backend_pid(), (SELECT count(*) FROM t)")
            #expect(try rows.integer(0, 0) == pid)
            #expect(try rows.integer(0, 1) == 0)
        }
    }

    @Test("a caller that gives up while it waits leaves the queue and is not served")
    func whileWaiting() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            let hold = DispatchSemaphore(value: 0)
            async let holding: Void = pool.withConnection { (_) throws(PostgresError) in
                _ = hold.wait(timeout: .now() + LongestWait.seconds)
            }
            try await eventually("the connection is held") { pool.occupancy.busy == 1 }
            let task = Task { try await pool.run("SELECT 1") }
            try await eventually("the caller waits") { pool.occupancy.waiting == 1 }
            task.cancel()
            let error = try await DatabaseFixture.error { _ = try await task.value }
            #expect(error.code == .cancelled)
            #expect(pool.occupancy.waiting == 0)
            hold.signal()
            try await holding
        }
    }

    @Test("a task that was cancelled before its call is not served")
    func beforehand() async throws {
        try await DatabaseFixture.withPool { pool in
            try await DatabaseFixture.script("CREATE TABLE t (id int)", on: pool)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await pool.run("INSERT INTO t VALUES (1)")
            }
            let error = try await DatabaseFixture.error { try await task.value }
            #expect(error.code == .cancelled)
            #expect(try await pool.run("SELECT count(*) FROM t").integer(0, 0) == 0)
        }
    }

    @Test("a transaction that is cancelled between two statements is rolled back")
    func betweenStatements() async throws {
        try await DatabaseFixture.withPool(size: 0...2) { pool in
            try await DatabaseFixture.script("CREATE TABLE t (id int)", on: pool)
            let (reached, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let task = Task {
                try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run("INSERT INTO t VALUES (1)")
                    reached.signal()
                    _ = goOn.wait(timeout: .now() + LongestWait.seconds)
                }
            }
            try await eventually("the row is written") { reached.wait(timeout: .now()) == .success }
            task.cancel()
            goOn.signal()
            let error = try await DatabaseFixture.error { try await task.value }
            #expect(error.code == .cancelled)
            #expect(try await pool.run("SELECT count(*) FROM t").integer(0, 0) == 0)
        }
    }

    @Test("a late cancellation affects no other statement")
    func lateCancellation() async throws {
        try await DatabaseFixture.withPool(size: 0...2) { pool in
            for _ in 0..<200 {
                let task = Task { try await pool.run("SELECT 1").integer(0, 0) }
                async let bystander = pool.run("SELECT 2").integer(0, 0)
                task.cancel()
                let seen = try await bystander
                #expect(seen == 2)
                switch await task.result {
                case .success(let value): #expect(value == 1)
                case .failure(let error): #expect((error as? PostgresError)?.code == .cancelled)
                }
                #expect(try await pool.run("SELECT 3").integer(0, 0) == 3)
            }
        }
    }

    @Test("a statement that exceeds the pool's time limit is cancelled, and the connection remains usable")
    func statementTimeout() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            let brief = pool.with(statementTimeout: .seconds(1))
            try await DatabaseFixture.script("CREATE TABLE t (id int)", on: pool)
            let pid = try await pool.run("SELECT pg_backend_pid()").integer(0, 0)
            let error = try await DatabaseFixture.error {
                _ = try await brief.run("INSERT INTO t SELECT 1 FROM pg_sleep(60)")
            }
            #expect(error.code == .timedOut)
            #expect(error.isTransient)
            let rows = try await pool.run("SELECT pg_backend_pid(), (SELECT count(*) FROM t)")
            #expect(try rows.integer(0, 0) == pid)
            #expect(try rows.integer(0, 1) == 0)
            let patient = try await brief.withConnection { (connection) throws(PostgresError) in
                connection.statementTimeout = LongestWait.duration
                return try connection.run("SELECT 1 FROM pg_sleep(1.3)").count
            }
            #expect(patient == 1)
        }
    }
}
