package import Postgres

extension ServerFixture {
    /// Simulates the passage of time: sets these timestamps of a table's rows to `span` ago, in all rows or in the rows
    /// of a condition.
    ///
    /// A test never waits for a lease, a retention period or a due time. `span` is an interval of PostgreSQL.
    package func pass(
        _ span: String,
        since columns: String...,
        in table: String,
        where condition: String = "true",
        _ parameters: [Parameter] = []
    ) async throws {
        let changes = columns.map { "\($0) = now() - interval '\(span)'" }.joined(separator: ", ")
        _ = try await owner.run(Statement("UPDATE \(table) SET \(changes) WHERE \(condition)"), parameters)
    }
}
