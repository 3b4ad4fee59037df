/// Connections to one database, shared by any number of tasks.
///
/// A task that needs one goes to sleep, its work runs on the connection's own thread, and the task is resumed with the
/// outcome: one hop in, one out, and nothing blocks a thread of Swift's cooperative pool. Cancelling the task
/// interrupts the statement under way. Whoever finds all connections busy waits in line.
package final class PostgresPool: Sendable {
    private let core: PoolCore
    private let acquireTimeout: Duration
    /// What each statement may take, where that is not the pool's own limit.
    private let statementTimeout: Duration?
    /// Whether the connections end with this object.
    private let isOwner: Bool

    /// What `ping` waits for a connection.
    private static let pingTimeout = Duration.seconds(2)

    /// Opens nothing yet; the first caller does.
    package init(_ options: PoolOptions) {
        core = PoolCore(options)
        acquireTimeout = options.acquireTimeout
        statementTimeout = nil
        isOwner = true
    }

    private init(sharing core: PoolCore, acquireTimeout: Duration, statementTimeout: Duration) {
        self.core = core
        self.acquireTimeout = acquireTimeout
        self.statementTimeout = statementTimeout
        isOwner = false
    }

    deinit {
        if isOwner { core.refuseEverybody() }
    }

    /// The same connections for a caller with a patience of their own for each statement; they last as long as this pool.
    package func with(statementTimeout limit: Duration) -> PostgresPool {
        PostgresPool(sharing: core, acquireTimeout: acquireTimeout, statementTimeout: limit)
    }

    /// Runs one statement as a transaction by itself, in one round trip.
    package func run(
        _ statement: Statement,
        _ parameters: [Parameter] = []
    ) async throws(PostgresError) -> Rows {
        try await withConnection { (connection) throws(PostgresError) in
            try connection.run(statement, parameters)
        }
    }

    /// Lends a connection to the body, which runs synchronously on the connection's thread and must not wait for
    /// anything but the database.
    ///
    /// A transaction that it leaves open is rolled back.
    package func withConnection<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await withConnection(acquiringWithin: acquireTimeout, body)
    }

    /// Runs the body between BEGIN and COMMIT; anything thrown rolls back.
    ///
    /// `outcomeUnknown` means that the answer to COMMIT was lost.
    package func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await withConnection { (connection) throws(PostgresError) in
            try connection.transaction(body)
        }
    }

    /// Refuses new callers and those who wait, lets work under way come to its end within `closeTimeout`, interrupts
    /// what is left, and closes every connection.
    ///
    /// May be called more than once.
    package func close() async {
        await core.close()
    }

    /// What is known without asking the server: some connection stands, or at least none was refused last.
    package var isHealthy: Bool { core.isHealthy }

    package var occupancy: PoolOccupancy { core.occupancy }

    /// Asks the server, for a readiness probe; a pool without a free connection within two seconds is not ready.
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

    /// Whether the URL leads through a pooler that hands connections on between transactions.
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
        let interruption = Interruption()
        let watch = watch(interruption)
        defer { watch?.cancel() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                core.submit(
                    PoolRequest(
                        interruption: interruption,
                        deadline: .now + limit,
                        continuation: continuation,
                        body: timed(body)
                    )
                )
            }
        } onCancel: {
            interruption.ask()
            core.abandon(interruption)
        }
        if case .failure(let error) = outcome, error.speaksOfTheServer { core.note(error) }
        return try outcome.get()
    }

    /// Interrupts the caller's work where the server answers nothing.
    private func watch(_ interruption: Interruption) -> Task<Void, Never>? {
        guard let watch = core.watch else { return nil }
        return Task { [core] in
            guard let silence = await watch.silence() else { return }
            interruption.ask(after: silence)
            core.abandon(interruption)
        }
    }

    private func timed<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) -> @Sendable (PostgresConnection) throws(PostgresError) -> Value {
        guard let statementTimeout else { return body }
        return { (connection) throws(PostgresError) in
            connection.statementTimeout = statementTimeout
            return try body(connection)
        }
    }
}

extension PostgresError {
    /// Whether a statement failed for the state that the server is in, on a connection that goes on.
    ///
    /// A server that has become read-only costs the connection, and so does one that is away.
    fileprivate var speaksOfTheServer: Bool {
        switch code {
        case .timedOut: true
        case .server(let state): state.isTransient && state != .readOnlyTransaction
        default: false
        }
    }
}
