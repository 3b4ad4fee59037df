import Postgres
import TestSupport
import Testing

@Suite(
    "The outcome of an operation of several transactions",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence)
)
struct OperationOutcomeTests {
    private static let failing = Statement("SELECT 1 / 0", effect: .reads)
    private static let partly = "A part of it has happened: look at the result before you repeat it."

    /// Returns the outcome of a failing statement after `earlier`.
    private static func outcome(
        after earlier: @Sendable (PostgresPool) async throws -> Void
    ) async throws -> String? {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            _ = try await pool.run("CREATE TEMPORARY TABLE notes (n bigint)")
            let operation = pool.forOneOperation()
            try await earlier(operation)
            return try await DatabaseFixture.error { _ = try await operation.run(Self.failing) }.outcome
        }
    }

    @Test("after a statement that has written, no error states that nothing happened")
    func statement() async throws {
        let outcome = try await Self.outcome { _ = try await $0.run("INSERT INTO notes VALUES (1)") }
        #expect(outcome == Self.partly)
        let read = try await Self.outcome { _ = try await $0.run(Statement("SELECT 1", effect: .reads)) }
        #expect(read != Self.partly)
    }

    @Test("after a transaction that has written, an error says so; after a rollback or a reading it does not")
    func transaction() async throws {
        let committed = try await Self.outcome { pool in
            try await pool.transaction { (connection) throws(PostgresError) in
                _ = try connection.run("INSERT INTO notes VALUES (1)")
            }
        }
        #expect(committed == Self.partly)
        let rolledBack = try await Self.outcome { pool in
            _ = try? await pool.transaction { (connection) throws(PostgresError) in
                _ = try connection.run("INSERT INTO notes VALUES (1)")
                _ = try connection.run(Self.failing)
            }
        }
        #expect(rolledBack != Self.partly)
        let read = try await Self.outcome { pool in
            try await pool.transaction { (connection) throws(PostgresError) in
                try connection.execute("SET TRANSACTION READ ONLY")
                _ = try connection.run(Statement("SELECT n FROM notes", effect: .reads))
            }
        }
        #expect(read != Self.partly)
    }

    @Test("operations do not share their outcome")
    func separate() async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            _ = try await pool.run("CREATE TEMPORARY TABLE notes (n bigint)")
            _ = try await pool.forOneOperation().run("INSERT INTO notes VALUES (1)")
            let error = try await DatabaseFixture.error { _ = try await pool.forOneOperation().run(Self.failing) }
            #expect(error.outcome != Self.partly)
        }
    }
}
