/// One caller's work and the way back to the caller, who is resumed exactly once.
final class PoolRequest: Sendable {
    let interruption: Interruption
    let deadline: ContinuousClock.Instant
    private let work: @Sendable (PostgresConnection) -> @Sendable () -> Void
    private let resumeFailing: @Sendable (PostgresError) -> Void

    init<Value: Sendable>(
        interruption: Interruption,
        deadline: ContinuousClock.Instant,
        continuation: CheckedContinuation<Result<Value, PostgresError>, Never>,
        body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) {
        self.interruption = interruption
        self.deadline = deadline
        work = { connection in
            let outcome = Result { () throws(PostgresError) in try body(connection) }
            return { continuation.resume(returning: outcome) }
        }
        resumeFailing = { continuation.resume(returning: .failure($0)) }
    }

    /// Tells the caller that the work has not begun and will not.
    func refuse(_ error: PostgresError) {
        resumeFailing(error)
    }

    /// Does the work on this thread and leaves the session clean or retired.
    ///
    /// Resuming the caller is the last step and left to whoever calls this: the session goes back first, so that a
    /// caller who comes again at once finds it.
    func perform(on session: Session, statementTimeout: Duration) -> @Sendable () -> Void {
        guard interruption.begin(on: session.canceller) else {
            return { [self] in refuse(interruption.silence.map(PostgresError.silentServer) ?? .abandoned) }
        }
        let connection = PostgresConnection(session, interruption, statementTimeout: statementTimeout)
        let resume = work(connection)
        let request = interruption.finish()
        // A session that is given up anyway has no next caller.
        if session.failure == nil, let request, !request.wait(atMost: Patience.grace) {
            // The request may still come through and would hit the next caller's statement.
            session.retire(because: PostgresError(.connectionLost, "A cancel request did not come through in time."))
        }
        connection.rollBack()
        return resume
    }
}

extension PostgresError {
    /// The caller gave up while waiting.
    static var abandoned: PostgresError {
        PostgresError(.cancelled, "The caller was cancelled while it waited for a connection; nothing was sent.")
    }

    static var poolClosed: PostgresError {
        PostgresError(.cancelled, "The connection pool is closed; nothing was sent.")
    }
}
