import Postgres
import TestSupport
import Testing

@Suite(
    "A server that does not answer",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence),
    .timeLimit(.ofTest)
)
struct SilenceTests {
    /// Runs a body with a pool whose callers would wait for an hour without the watch for silence.
    private func withPatientPool(
        through proxy: TCPProxy? = nil,
        silence: Duration = .milliseconds(200),
        _ body: (PostgresPool) async throws -> Void
    ) async throws {
        try await DatabaseFixture.withPool(
            size: 0...2,
            through: proxy,
            adjusting: { options in
                options.statementTimeout = .seconds(3_600)
                options.acquireTimeout = .seconds(3_600)
                options.silence = silence
            },
            body
        )
    }

    /// Longer than a working server needs for an answer on a busy machine, but shorter than the statements of these
    /// tests.
    private static let longSilence = Duration.seconds(5)

    /// Waits for an answer in time.
    ///
    /// On a busy machine, one answer may take longer than the silence that a test allows.
    private func answers(_ pool: PostgresPool) async throws {
        try await eventually("the server answers in time") { (try? await pool.run("SELECT 1").count) == 1 }
    }

    @Test("a running statement is given up, and the pool works again when the server answers")
    func underWay() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        try await withPatientPool(through: proxy) { pool in
            try await answers(pool)
            proxy.blackHole(true)
            let read = Statement("SELECT 2", effect: .reads)
            let error = try await DatabaseFixture.error { _ = try await pool.run(read) }
            #expect(error.code == .timedOut)
            #expect(error.isTransient)
            let words = "the server has answered nothing for"
            #expect(error.message.contains("SELECT 2") && error.message.contains(words), "\(error)")
            proxy.blackHole(false)
            try await answers(pool)
        }
    }

    @Test("a running write has an unknown outcome")
    func write() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        try await withPatientPool(through: proxy) { pool in
            try await eventually("a write is answered in time") {
                try? await DatabaseFixture.script("CREATE TABLE IF NOT EXISTS t (id int)", on: pool)
                return (try? await pool.run("INSERT INTO t VALUES (1)")) != nil
            }
            proxy.blackHole(true)
            let error = try await DatabaseFixture.error { _ = try await pool.run("INSERT INTO t VALUES (1)") }
            #expect(error.code == .outcomeUnknown)
        }
    }

    @Test("a caller that waits for a connection receives the error, too")
    func waiting() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        try await withPatientPool(through: proxy) { pool in
            proxy.blackHole(true)
            let error = try await DatabaseFixture.error { _ = try await pool.run("SELECT 1") }
            #expect(error.code == .timedOut)
            #expect(error.message.contains("Waiting for a connection"), "\(error)")
        }
    }

    @Test("a slow server is waited for")
    func slow() async throws {
        try await withPatientPool(silence: Self.longSilence) { pool in
            let count = try await pool.run("SELECT 1 FROM pg_sleep(12)").count
            #expect(count == 1)
        }
    }

    @Test("a server that refuses new connections counts as answering, and its running work continues")
    func refusing() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        try await withPatientPool(through: proxy, silence: Self.longSilence) { pool in
            _ = try await pool.run("SELECT 1")
            proxy.refuse(true)
            let looks = proxy.connectionCount
            let count = try await pool.run("SELECT 1 FROM pg_sleep(12)").count
            #expect(count == 1)
            #expect(proxy.connectionCount > looks)
        }
    }

    @Test("callers of one pool may have different time limits")
    func patience() async throws {
        try await withPatientPool(silence: Self.longSilence) { pool in
            let error = try await DatabaseFixture.error {
                _ = try await pool.with(statementTimeout: .milliseconds(300)).run("SELECT 1 FROM pg_sleep(600)")
            }
            #expect(error.code == .timedOut)
            #expect(error.message.contains("took longer than 300ms"), "\(error)")
            // It continues after the other one ended, with its own time limit.
            let count = try await pool.run("SELECT 1 FROM pg_sleep(0.6)").count
            #expect(count == 1)
        }
    }
}
