import Postgres
import Synchronization
import TestSupport

/// A separate session of a test that keeps rows locked until it is released.
package final class RowLock: Sendable {
    private enum Phase {
        case waiting
        case held
        case released
    }

    private let phase = Mutex(Phase.waiting)
    private let pool: PostgresPool

    private init(_ pool: PostgresPool) {
        self.pool = pool
    }

    /// Runs a locking statement with the owner's rights while the body runs.
    package static func hold<Value: Sendable>(
        on servers: ServerFixture,
        _ statement: String,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let lock = RowLock(try ServerFixture.makePool(setUp: ["SET search_path TO \(servers.namespace)"]))
        let session = Task { try await lock.run(statement) }
        let result: Result<Value, any Error>
        do {
            try await lock.waitUntilHeld()
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        lock.phase.withLock { $0 = .released }
        try await session.value
        await lock.pool.close()
        return try result.get()
    }

    private func run(_ statement: String) async throws {
        try await pool.transaction { [self] (connection) throws(PostgresError) in
            _ = try connection.run(Statement(statement))
            phase.withLock { phase in if phase == .waiting { phase = .held } }
            // The connection's thread may wait only for the database.
            while phase.withLock({ $0 }) == .held { _ = try connection.run(Statement("SELECT pg_sleep(0.02)")) }
        }
    }

    private func waitUntilHeld() async throws {
        try await eventually("the rows are locked") { phase.withLock { $0 } != .waiting }
    }
}
