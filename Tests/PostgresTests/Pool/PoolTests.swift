import Dispatch
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("The pool under load", .limitedConcurrency, .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence))
struct PoolTests {
    @Test("two hundred callers share four connections, and each gets its answer")
    func manyCallers() async throws {
        let name = Servers.uniqueName("load")
        try await DatabaseFixture.withPool(size: 0...4, adjusting: { $0.applicationName = name }) { pool in
            let sum = try await withThrowingTaskGroup(of: Int64.self) { group in
                for number in 0..<200 as Range<Int64> {
                    group.addTask {
                        let rows = try await pool.run("SELECT $1::bigint", [.integer(number)])
                        guard try rows.integer(0, 0) == number else { return -1_000_000 }
                        return number
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(sum == 19_900)
            let pids = try await pool.run(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = current_setting('application_name')"
            )
            #expect(try (1...4).contains(pids.integer(0, 0)))
            #expect(pool.occupancy.waiting == 0)
        }
    }

    @Test("a caller that exceeds the acquire timeout receives a timeout")
    func exhaustion() async throws {
        try await DatabaseFixture.withPool(size: 0...1, adjusting: { $0.acquireTimeout = .seconds(2) }) { pool in
            try await eventually("a connection is made within two seconds") {
                (try? await pool.run("SELECT 1").count) == 1
            }
            let hold = DispatchSemaphore(value: 0)
            async let holding: Void = pool.withConnection { (_) throws(PostgresError) in
                _ = hold.wait(timeout: .now() + LongestWait.seconds)
            }
            try await eventually("the connection is held") { pool.occupancy.busy == 1 }
            let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
            #expect(error.code == .timedOut)
            #expect(error.isTransient && error.code != .outcomeUnknown)
            hold.signal()
            try await holding
            try await eventually("it is free again") { (try? await pool.run("SELECT 1").count) == 1 }
        }
    }

    @Test("a caller that does not wait for a server receives its refusal immediately", .timeLimit(.ofTest))
    func refusal() async throws {
        var options = PoolOptions(url: try DatabaseURL("postgres://127.0.0.1:1/none"))
        // A waiting caller would exceed the time limit of this test.
        options.acquireTimeout = .seconds(3_600)
        options.waitsForServer = false
        options.size = 0...1
        let pool = PostgresPool(options)
        for _ in 0..<2 {
            let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
            #expect(error.code == .cannotConnect)
        }
        await pool.close()
    }

    @Test("waiting callers are served in order of arrival")
    func order() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            let hold = DispatchSemaphore(value: 0)
            let served = Journal<Int>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await pool.withConnection { (_) throws(PostgresError) in
                        _ = hold.wait(timeout: .now() + LongestWait.seconds)
                    }
                }
                try await eventually("the connection is held") { pool.occupancy.busy == 1 }
                for number in 0..<10 {
                    group.addTask {
                        try await pool.withConnection { (_) throws(PostgresError) in
                            served.add(number)
                        }
                    }
                    try await eventually("caller \(number) waits") { pool.occupancy.waiting == number + 1 }
                }
                hold.signal()
                try await group.waitForAll()
            }
            #expect(served.entries == Array(0..<10))
        }
    }

    @Test("each new connection is set up, and a failed set-up is a failure to connect")
    func setUp() async throws {
        try await DatabaseFixture.withPool(adjusting: { options in
            options.applicationName = "bellhop setup"
            options.setUp.append("SET statement_timeout = 1234")
        }) { pool in
            let rows = try await pool.run(
                """
                SELECT current_setting('statement_timeout'), current_setting('application_name'),
                       current_setting('client_encoding')
                """
            )
            #expect(try rows.text(0, 0) == "1234ms")
            #expect(try rows.text(0, 1) == "bellhop setup")
            #expect(try rows.text(0, 2) == "UTF8")
        }
        var options = PoolOptions(url: try DatabaseFixture.url())
        options.setUp = ["SET ROLE nobody_of_that_name"]
        let pool = PostgresPool(options)
        let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
        #expect(error.code == .cannotConnect && error.sqlState == .invalidParameterValue)
        #expect(!error.isTransient)
        await pool.close()
    }

    @Test("an idle connection that an administrator ends is replaced, and the next caller succeeds")
    func endedWhileIdle() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            let first = try await pool.run("SELECT pg_backend_pid()").integer(0, 0)
            try await Self.end(first)
            let second = try await pool.run("SELECT pg_backend_pid()").integer(0, 0)
            #expect(second != first)
        }
    }

    @Test("a statement whose connection an administrator ends has no effect, and the next call succeeds")
    func endedWhileBusy() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            try await DatabaseFixture.script("CREATE TABLE t (id int)", on: pool)
            let pid = try await pool.run("SELECT pg_backend_pid()").integer(0, 0)
            async let outcome = DatabaseFixture.error {
                _ = try await pool.run("INSERT INTO t SELECT 1 FROM pg_sleep(30)")
            }
            try await Self.waitUntilSleeping(pid)
            try await Self.end(pid)
            let error = try await outcome
            #expect(error.code == .connectionLost)
            #expect(error.sqlState == .adminShutdown)
            #expect(error.isTransient && error.code != .outcomeUnknown)
            #expect(try await pool.run("SELECT count(*) FROM t").integer(0, 0) == 0)
        }
    }

    /// Ends a backend from outside and waits until it has ended.
    static func end(_ pid: Int64) async throws {
        try await DatabaseFixture.withPool(size: 0...1) { admin in
            _ = try await admin.run("SELECT pg_terminate_backend($1::int)", [.integer(pid)])
            try await eventually("the backend has ended") {
                try await admin.run("SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int", [.integer(pid)])
                    .integer(0, 0) == 0
            }
        }
    }

    /// Waits until that backend is in `pg_sleep`.
    static func waitUntilSleeping(_ pid: Int64) async throws {
        try await DatabaseFixture.withPool(size: 0...1) { admin in
            try await eventually("the statement runs") {
                try await admin.run(
                    "SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int AND wait_event = 'PgSleep'",
                    [.integer(pid)]
                ).integer(0, 0) == 1
            }
        }
    }

    @Test("closing completes running work and rejects all other callers")
    func closing() async throws {
        let pool = PostgresPool(PoolOptions(url: try DatabaseFixture.url()))
        let hold = DispatchSemaphore(value: 0)
        async let slow = pool.withConnection { (connection) throws(PostgresError) in
            _ = hold.wait(timeout: .now() + LongestWait.seconds)
            return try connection.run("SELECT 42::int").integer(0, 0)
        }
        try await eventually("the connection is held") { pool.occupancy.busy == 1 }
        async let closing: Void = pool.close()
        try await eventually("the pool is closed") { !pool.isHealthy }
        let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
        #expect(error.code == .cancelled)
        #expect(await !pool.ping())
        hold.signal()
        await closing
        let left = pool.occupancy
        #expect([left.idle, left.busy, left.opening, left.waiting] == [0, 0, 0, 0])
        #expect(try await slow == 42)
        await pool.close()
    }

    @Test("closing interrupts work that does not complete in time")
    func closingImpatiently() async throws {
        var options = PoolOptions(url: try DatabaseFixture.url())
        options.closeTimeout = .milliseconds(50)
        let pool = PostgresPool(options)
        let pid = try await pool.run("SELECT pg_backend_pid()").integer(0, 0)
        async let slow = DatabaseFixture.error { _ = try await pool.run("SELECT pg_sleep(60)") }
        try await Self.waitUntilSleeping(pid)
        await pool.close()
        #expect(try await slow.code == .cancelled)
    }

    @Test("a pool that is dropped without closing closes its connections")
    func abandonedPool() async throws {
        let name = Servers.uniqueName("abandoned")
        do {
            var options = PoolOptions(url: try DatabaseFixture.url())
            options.applicationName = name
            _ = try await PostgresPool(options).run("SELECT 1")
        }
        try await DatabaseFixture.withPool { pool in
            try await eventually("the backend has ended") {
                try await pool.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", [.text(name)])
                    .integer(0, 0) == 0
            }
        }
    }

    @Test("a probe succeeds on a working server")
    func probe() async throws {
        try await DatabaseFixture.withPool { pool in
            #expect(await pool.ping())
            #expect(pool.isHealthy)
        }
    }

    @Test("the observer receives errors of the server's state, but not errors of the statement")
    func failures() async throws {
        let failures = Mutex<[String]>([])
        try await DatabaseFixture.withPool(adjusting: { options in
            options.observer = { event in
                if case .failed(let error) = event { failures.withLock { $0.append(error.sqlState?.code ?? "none") } }
            }
        }) { pool in
            for code in ["53100", "23505", "55P03", "42601"] {
                let raise = Statement("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '\(code)'; END $$")
                let error = try await DatabaseFixture.error { _ = try await pool.run(raise) }
                #expect(error.sqlState?.code == code)
            }
        }
        let seen = failures.withLock { $0 }
        #expect(seen == ["53100", "55P03"])
    }

    @Test("a server is not taken for a pooler when queried directly or through a relay")
    func noPooler() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        for url in [try DatabaseFixture.url(), try DatabaseFixture.url(through: proxy)] {
            let pool = PostgresPool(PoolOptions(url: url))
            let isLentAnew = try await pool.isLentAnew()
            #expect(!isLentAnew)
            await pool.close()
        }
    }
}
