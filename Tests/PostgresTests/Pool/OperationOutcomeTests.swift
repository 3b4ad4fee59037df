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

    /// Checks whether the error of a failing statement after `earlier` states that a part has happened.
    private static func expect(
        partly isPartly: Bool,
        after earlier: @Sendable (PostgresPool) async throws -> Void
    ) async throws {
        try await DatabaseFixture.withPool(size: 0...1) { pool in
            _ = try await pool.run("CREATE TEMPORARY TABLE notes (n bigint)")
            let operation = pool.forOneOperation()
            try await earlier(operation)
            let error = try await DatabaseFixture.error { _ = try await operation.run(Self.failing) }
            #expect((error.outcome == Self.partly) == isPartly, "\(error)")
        }
    }

    @Test("after a statement that has written, no error states that nothing happened")
    func statement() async throws {
        try await Self.expect(partly: true) { _ = try await $0.run("INSERT INTO notes VALUES (1)") }
        try await Self.expect(partly: false) { _ = try await $0.run(Statement("SELECT 1", effect: .reads)) }
    }

    @Test("after a transaction that has written, an error states it; after a rollback or a reading it does not")
    func transaction() async throws {
        try await Self.expect(partly: true) { pool in
            try await pool.transaction { (connection) throws(PostgresError) in
                _ = try connection.run("INSERT INTO notes VALUES (1)")
            }
        }
        try await Self.expect(partly: false) { pool in
            _ = try? await pool.transaction { (connection) throws(PostgresError) in
                _ = try connection.run("INSERT INTO notes VALUES (1)")
                _ = try connection.run(Self.failing)
            }
        }
        try await Self.expect(partly: false) { pool in
            try await pool.transaction { (connection) throws(PostgresError) in
                try connection.execute("SET TRANSACTION READ ONLY")
                _ = try connection.run(Statement("SELECT n FROM notes", effect: .reads))
            }
        }
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
