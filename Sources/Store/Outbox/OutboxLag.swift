package import Postgres
package import ServiceRuntime

/// The rows that wait in an outbox.
package struct OutboxLag: Sendable, Equatable {
    /// The number of rows, counted up to ``most``.
    package let rows: Int
    /// The seconds since the oldest of them was written; 0 if there is none.
    package let oldestAge: Double

    /// The limit of the count.
    package static let most = 100_000

    package var isCapped: Bool { rows >= Self.most }

    package init(rows: Int, oldestAge: Double) {
        self.rows = rows
        self.oldestAge = oldestAge
    }

    package init(of pool: PostgresPool) async throws(StoreError) {
        let found = try await pool.run(Self.statement)
        rows = try found.number(0, 0)
        oldestAge = max(0, try found.optionalDouble(0, 1) ?? 0)
    }

    /// Reads the lag on a connection that is made for it, for an operator at a terminal.
    package init(at url: Secret, within patience: Duration) async throws(StoreError) {
        var options = PoolOptions(url: try DatabaseURL(url.revealed))
        options.size = 0...1
        options.applicationName = "bellhop status"
        options.waitsForServer = false
        options.silence = .seconds(2)
        options.statementTimeout = patience
        let pool = PostgresPool(options)
        let result: Result<OutboxLag, StoreError>
        do throws(StoreError) { result = .success(try await OutboxLag(of: pool)) } catch { result = .failure(error) }
        await pool.close()
        self = try result.get()
    }

    private static let statement = Statement(
        """
        SELECT count(*), extract(epoch FROM clock_timestamp() - min(created_at))::double precision
        FROM (SELECT created_at FROM \(OutboxSchema.table) ORDER BY id LIMIT \(most)) AS waiting
        """,
        effect: .reads
    )
}

extension StoreError {
    /// Advice for an error of an outbox that waiting does not correct; `nil` for any other.
    package var outboxAdvice: String? {
        if isSchemaMismatch {
            return "create the table with bellhop relay --schema, in a schema of the log-in's search path"
        }
        if isMissingPrivilege { return "grant the rights at the end of bellhop relay --schema" }
        return nil
    }
}
