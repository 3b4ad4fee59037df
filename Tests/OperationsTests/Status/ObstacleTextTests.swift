import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Operations

@Suite(
    "Obstacles in the status",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ObstacleTextTests {
    @Test("a database that stops answering is reported as such, and not as a change with an unknown outcome")
    func silence() async throws {
        try await ServerFixture.withSchema { servers in
            let (proxy, url) = try TCPProxy.beforeDatabase()
            defer { proxy.stop() }
            let pool = PostgresPool(PoolOptions(url: try DatabaseURL(url)))
            _ = try await pool.run("SELECT 1", [])
            proxy.blackHole(true)
            let migrator = Migrator(pool: pool.with(statementTimeout: .seconds(2)), namespace: servers.namespace)
            var error: StoreError?
            do throws(StoreError) {
                _ = try await migrator.check()
            } catch let failure {
                error = failure
            }
            let failure = try #require(error)
            #expect(failure.code == .timedOut, "\(failure)")
            let words = "the server does not answer; see docs/runbooks/database.md, When it does not answer"
            #expect(readingText(of: failure) == words)
            #expect(!failure.textWithAdvice.contains(".;"), "\(failure.textWithAdvice)")
            await pool.close()
        }
    }
}
