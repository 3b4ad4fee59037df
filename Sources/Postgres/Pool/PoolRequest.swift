/// One caller's work with its continuation, which is resumed exactly once.
final class PoolRequest: Sendable {
    let cancellation: CancellationHandle
    let deadline: ContinuousClock.Instant
    private let work: @Sendable (PostgresConnection) -> @Sendable () -> Void
    private let resumeFailing: @Sendable (PostgresError) -> Void

    init<Value: Sendable>(
        cancellation: CancellationHandle,
        deadline: ContinuousClock.Instant,
        continuation: CheckedContinuation<Result<Value, PostgresError>, Never>,
        body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) {
        self.cancellation = cancellation
        self.deadline = deadline
        work = { connection in
            let outcome = Result { () throws(PostgresError) in try body(connection) }
            return { continuation.resume(returning: outcome) }
        }
        resumeFailing = { continuation.resume(returning: .failure($0)) }
    }

    /// Informs the caller that the work did not begin and will not begin.
    func refuse(_ error: PostgresError) { resumeFailing(error) }

    /// Does the work on this thread and leaves the session clean or retired.
    ///
    /// Returns the last step, which resumes the caller. The thread runs it after the session is back in the pool, so
    /// that a caller which immediately asks again finds the session.
    func perform(on session: PostgresSession, statementTimeout: Duration) -> @Sendable () -> Void {
        guard cancellation.begin(on: session.canceller) else {
            return { [self] in refuse(cancellation.silence.map(PostgresError.silentServer) ?? .abandoned) }
        }
        let connection = PostgresConnection(session, cancellation, statementTimeout: statementTimeout)
        let resume = work(connection)
        let request = cancellation.finish()
        // A session that is given up has no next caller.
        if session.failure == nil, let request, !request.wait(atMost: Deadline.grace) {
            // The request may still arrive and would cancel the next caller's statement.
            session.retire(because: PostgresError(.connectionLost, "A cancel request did not come through in time."))
        }
        connection.rollBack()
        return resume
    }
}

extension PostgresError {
    /// The caller gave up while it waited.
    static var abandoned: PostgresError {
        PostgresError(.cancelled, "The caller was cancelled while it waited for a connection; nothing was sent.")
    }

    static var poolClosed: PostgresError {
        PostgresError(.cancelled, "The connection pool is closed; nothing was sent.")
    }
}
