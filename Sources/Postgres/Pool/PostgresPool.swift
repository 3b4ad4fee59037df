/// Connections to one database, shared by any number of tasks.
///
/// A task that needs a connection is suspended, its work runs on the connection's thread, and the task is resumed with
/// the result. This costs two changes of thread and never blocks a thread of Swift's cooperative pool. Cancelling the
/// task interrupts the running statement. If all connections are busy, callers wait in order.
package final class PostgresPool: Sendable {
    private let core: PoolCore
    private let acquireTimeout: Duration
    /// The time limit for each statement, if it differs from the pool's.
    private let statementTimeout: Duration?
    /// Whether something was written through this view; `nil` if it is not recorded.
    private let writes: WriteRecord?
    /// Whether the connections end with this object.
    private let isOwner: Bool

    /// The time for which `ping` waits for a connection.
    private static let pingTimeout = Duration.seconds(2)

    /// Creates a pool without connections; the first caller opens one.
    package init(_ options: PoolOptions) {
        core = PoolCore(options)
        acquireTimeout = options.acquireTimeout
        statementTimeout = nil
        writes = nil
        isOwner = true
    }

    private init(sharing pool: PostgresPool, statementTimeout: Duration?, writes: WriteRecord?) {
        core = pool.core
        acquireTimeout = pool.acquireTimeout
        self.statementTimeout = statementTimeout
        self.writes = writes
        isOwner = false
    }

    deinit { if isOwner { core.refuseEverybody() } }

    /// Returns a view of the same connections with another time limit for each statement.
    ///
    /// The connections last as long as this pool.
    package func with(statementTimeout limit: Duration) -> PostgresPool {
        PostgresPool(sharing: self, statementTimeout: limit, writes: writes)
    }

    /// Returns a view of the same connections for one operation of several transactions: after the first one has taken
    /// effect, no error states that nothing happened.
    package func forOneOperation() -> PostgresPool {
        PostgresPool(sharing: self, statementTimeout: statementTimeout, writes: WriteRecord())
    }

    /// Runs one statement as a separate transaction, in one round trip.
    package func run(
        _ statement: Statement,
        _ parameters: [Parameter] = []
    ) async throws(PostgresError) -> Rows {
        try await withConnection { (connection) throws(PostgresError) in
            try connection.run(statement, parameters)
        }
    }

    /// Lends a connection to the body, which runs synchronously on the connection's thread and may wait only for the
    /// database.
    ///
    /// A transaction that it leaves open is rolled back.
    package func withConnection<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await withConnection(acquiringWithin: acquireTimeout, body)
    }

    /// Runs the body between BEGIN and COMMIT; any thrown error rolls back.
    ///
    /// `outcomeUnknown` means that the answer to COMMIT was lost.
    package func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await withConnection { (connection) throws(PostgresError) in
            try connection.transaction(body)
        }
    }

    /// Rejects new and waiting callers, lets running work complete within `closeTimeout`, interrupts the rest, and
    /// closes every connection.
    ///
    /// May be called more than once.
    package func close() async { await core.close() }

    /// Whether some connection is open or the last attempt was not rejected, as known without a query.
    package var isHealthy: Bool { core.isHealthy }

    package var occupancy: PoolOccupancy { core.occupancy }

    /// Queries the server, for a readiness probe.
    ///
    /// A pool without a free connection within two seconds is not ready.
    package func ping() async -> Bool {
        do {
            return try await withConnection(acquiringWithin: Self.pingTimeout) { (connection) throws(PostgresError) in
                connection.statementTimeout = Self.pingTimeout
                return try connection.run(Statement("SELECT 1", effect: .reads)).count == 1
            }
        } catch {
            return false
        }
    }

    /// Whether the URL leads to a pooler that passes connections on between transactions.
    package func isLentAnew() async throws(PostgresError) -> Bool {
        let recipe = core.recipe
        return try await withConnection { (connection) throws(PostgresError) in
            try connection.isLentAnew(beside: recipe)
        }
    }

    private func withConnection<Value: Sendable>(
        acquiringWithin limit: Duration,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let cancellation = CancellationHandle()
        let watch = watch(cancellation)
        defer { watch?.cancel() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                core.submit(
                    PoolRequest(
                        cancellation: cancellation,
                        deadline: .now + limit,
                        continuation: continuation,
                        body: viewed(body)
                    )
                )
            }
        } onCancel: {
            cancellation.ask()
            core.abandon(cancellation)
        }
        guard case .failure(let error) = outcome else { return try outcome.get() }
        if error.speaksOfTheServer { core.note(error) }
        throw writes?.completed(error) ?? error
    }

    /// Interrupts the caller's work if the server does not answer at all.
    private func watch(_ cancellation: CancellationHandle) -> Task<Void, Never>? {
        guard let watch = core.watch else { return nil }
        return Task { [core] in
            guard let silence = await watch.silence() else { return }
            cancellation.ask(after: silence)
            core.abandon(cancellation)
        }
    }

    /// Returns the body with the time limit and the record of this view.
    private func viewed<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) -> @Sendable (PostgresConnection) throws(PostgresError) -> Value {
        guard statementTimeout != nil || writes != nil else { return body }
        return { [statementTimeout, writes] (connection) throws(PostgresError) in
            if let statementTimeout { connection.statementTimeout = statementTimeout }
            defer { if connection.hasWritten { writes?.note() } }
            return try body(connection)
        }
    }
}

extension PostgresError {
    /// Whether a statement failed because of the server's state, on a connection that still works.
    ///
    /// A read-only or unreachable server ends the connection instead.
    fileprivate var speaksOfTheServer: Bool {
        switch code {
        case .timedOut: true
        case .server(let state): state.isTransient && state != .readOnlyTransaction
        default: false
        }
    }
}
