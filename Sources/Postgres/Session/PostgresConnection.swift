import CPostgreSQL

/// A connection that is lent to one caller, which uses it from one synchronous closure.
///
/// There is no change of thread between statements.
///
/// It lives on the connection's thread and is not Sendable, so that it cannot leave the closure. A change to the
/// session (`SET`, `LISTEN`, temporary tables) remains for the next caller; an open transaction is rolled back.
package final class PostgresConnection {
    let session: PostgresSession
    private let cancellation: CancellationHandle
    /// The time limit of each following statement; a migration may need more than the pool's setting.
    package var statementTimeout: Duration
    /// Whether a statement that writes has taken effect since the connection was lent.
    private(set) var hasWritten = false
    /// Whether the open transaction has written something.
    private var transactionWrites = false

    /// The time limit of a rollback, after which the connection is given up instead.
    private static let rollbackTimeout = Duration.seconds(5)

    init(_ session: PostgresSession, _ cancellation: CancellationHandle, statementTimeout: Duration) {
        self.session = session
        self.cancellation = cancellation
        self.statementTimeout = statementTimeout
    }

    /// The history that tells which earlier values are valid here.
    package var history: DatabaseHistory { session.history }

    var deadline: Deadline { Deadline(statementTimeout, cancellation) }

    /// Runs one statement in one round trip, or two when this connection first runs it.
    ///
    /// Outside a transaction, the statement is a separate transaction.
    package func run(
        _ statement: Statement,
        _ parameters: [Parameter] = []
    ) throws(PostgresError) -> Rows {
        try refuseIfInterrupted(.statement(statement))
        let isKnown = session.plans[statement] != nil
        let isAlone = session.transactionStatus == .none
        do {
            return try execute(statement, parameters)
        } catch {
            guard forgets([statement], after: error), isKnown, isAlone else { throw error }
            return try execute(statement, parameters)
        }
    }

    /// Runs a script of any number of statements without parameters, such as a migration; rows are discarded.
    ///
    /// A script without BEGIN is one transaction. Its text never appears in an error, only the line.
    package func execute(_ script: String) throws(PostgresError) {
        let attempt = SessionOperation.script(script)
        try refuseIfInterrupted(attempt)
        guard !script.utf8.contains(0) else {
            throw PostgresError(.invalidParameter, "A script holds a NUL and was not sent.")
        }
        let (answer, spent) = try session.exchange(attempt, .commit, deadline) { (deadline) throws(ConnectionLoss) in
            guard session.send(script) else { throw session.complaint() }
            return try session.collect(attempt, &deadline)
        }
        _ = try session.rows(of: answer, attempt, spent)
    }

    /// Runs several statements in one round trip.
    ///
    /// Outside a transaction they form one: if any of them fails, none has an effect.
    package func pipeline(
        _ batch: [(statement: Statement, parameters: [Parameter])]
    ) throws(PostgresError) -> [Rows] {
        let attempt = SessionOperation.pipeline(batch.count)
        try refuseIfInterrupted(attempt)
        if batch.isEmpty { return [] }
        do {
            return try send(batch, attempt)
        } catch {
            _ = forgets(batch.map(\.statement), after: error)
            throw error
        }
    }

    /// Runs the body between BEGIN and COMMIT; any thrown error rolls back.
    package func transaction<Value>(
        _ body: (PostgresConnection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try refuseIfInterrupted(.command("BEGIN"))
        guard session.transactionStatus == .none else {
            throw PostgresError(.unexpectedResult, "A transaction was begun while another was open.")
        }
        try session.command("BEGIN", .nothing, deadline)
        transactionWrites = false
        do {
            let value = try body(self)
            try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    private func refuseIfInterrupted(_ attempt: SessionOperation) throws(PostgresError) {
        guard cancellation.isAsked else { return }
        if let span = cancellation.silence { throw .silent(span, "\(attempt): ", "It was not sent.") }
        throw PostgresError(.cancelled, "\(attempt) was cancelled before it was sent.")
    }

    private func execute(_ statement: Statement, _ parameters: [Parameter]) throws(PostgresError) -> Rows {
        let attempt = SessionOperation.statement(statement)
        try session.prepare([statement], deadline)
        session.parameters.reset()
        let query = try encode(statement, parameters)
        let (answer, spent) = try session.exchange(attempt, effect([statement]), deadline) {
            (deadline) throws(ConnectionLoss) in
            guard session.send(query) else { throw session.complaint() }
            return try session.collect(attempt, &deadline)
        }
        let rows = try session.rows(of: answer, attempt, spent)
        if statement.effect == .writes { noteWrite() }
        return rows
    }

    /// Notes that a statement has written something, which takes effect at the end of its transaction.
    private func noteWrite() {
        if session.transactionStatus == .none { hasWritten = true } else { transactionWrites = true }
    }

    private func send(
        _ batch: [(statement: Statement, parameters: [Parameter])],
        _ attempt: SessionOperation
    ) throws(PostgresError) -> [Rows] {
        try session.prepare(batch.map(\.statement), deadline)
        session.parameters.reset()
        var queries: [PostgresSession.Query] = []
        for (statement, parameters) in batch { queries.append(try encode(statement, parameters)) }
        let effect = effect(batch.map(\.statement))
        let (answers, spent) = try session.exchange(attempt, effect, deadline) { (deadline) throws(ConnectionLoss) in
            try session.pipeline({ .statement(batch[$0].statement) }, count: batch.count, &deadline) {
                queries.allSatisfy { session.send($0) }
            }
        }
        // The last answer may contain the failure of the commit, so that no answer counts before all are checked.
        if let failed = answers.firstIndex(where: { $0.failure != nil }) {
            _ = try session.rows(of: answers[failed], .statement(batch[failed].statement), spent)
        }
        var results: [Rows] = []
        for (index, answer) in answers.enumerated() {
            results.append(try session.rows(of: answer, .statement(batch[index].statement), spent))
        }
        if batch.contains(where: { $0.statement.effect == .writes }) { noteWrite() }
        return results
    }

    private func encode(_ statement: Statement, _ parameters: [Parameter]) throws(PostgresError)
        -> PostgresSession.Query
    {
        guard let plan = session.plans[statement] else {
            throw PostgresError(
                .unexpectedResult,
                "\(SessionOperation.statement(statement)): prepared, but without a plan."
            )
        }
        return PostgresSession.Query(plan: plan, places: try session.parameters.encode(parameters, as: plan.parameters))
    }

    /// Drops plans that no longer match after a migration or are unknown behind a pooler, so that the next use prepares
    /// them again.
    ///
    /// The server rejects such a statement before it executes anything.
    private func forgets(_ statements: [Statement], after error: PostgresError) -> Bool {
        guard error.sqlState == .featureNotSupported || error.sqlState == .statementNameUnknown else { return false }
        for statement in statements { session.plans.forget(statement) }
        return true
    }

    private func commit() throws(PostgresError) {
        if let failure = session.failure { throw failure }
        switch session.transactionStatus {
        case .open:
            break
        case .failed:
            throw PostgresError(
                .unexpectedResult,
                "A statement of the transaction failed and its error was ignored; the transaction was rolled back."
            )
        case .none, .unclear:
            throw PostgresError(.unexpectedResult, "The transaction was ended by a statement in its body.")
        }
        guard cancellation.shield() else {
            if let span = cancellation.silence { throw .silent(span, "A transaction: ", "It was rolled back.") }
            throw PostgresError(.cancelled, "A transaction was cancelled before its COMMIT; it was rolled back.")
        }
        defer { cancellation.unshield() }
        let rows = try session.command("COMMIT", .commit, deadline)
        guard rows.commandTag == "COMMIT" else {
            throw PostgresError(.unexpectedResult, "The server answered COMMIT with \(rows.commandTag).")
        }
        hasWritten = hasWritten || transactionWrites
    }

    /// Rolls back an open transaction.
    ///
    /// If that fails, the connection is given up, which rolls back as well.
    func rollBack() {
        guard session.failure == nil, session.transactionStatus != .none else { return }
        do {
            try session.command("ROLLBACK", .nothing, Deadline(Self.rollbackTimeout, CancellationHandle()))
        } catch {
            session.retire(because: error)
        }
    }

    /// Returns the possible effect of these statements if their answer is lost.
    private func effect(_ statements: [Statement]) -> ConnectionLoss.PossibleEffect {
        if statements.contains(where: \.commits) { return .commit }
        guard session.transactionStatus == .none else { return .nothing }
        return statements.allSatisfy { $0.effect == .reads } ? .nothing : .autocommit
    }

    /// The number of comparisons between two sessions.
    ///
    /// A busy pooler may give them different servers for a while.
    private static let looks = 8

    /// Whether a pooler lends this connection to other clients after each transaction, as PgBouncer does with
    /// `pool_mode = transaction`.
    ///
    /// Other clients would then share this session's settings, prepared statements and locks.
    ///
    /// A pooler answers with its own process number. It pools transactions if a second session with the same recipe
    /// uses the server process that the first session used a moment before.
    func isLentAnew(beside recipe: SessionOptions) throws(PostgresError) -> Bool {
        guard try serverProcess() != String(PQbackendPID(session.handle)) else { return false }
        let other = PostgresConnection(
            try PostgresSession.open(recipe),
            CancellationHandle(),
            statementTimeout: statementTimeout
        )
        for _ in 0..<Self.looks {
            let mine = try serverProcess()
            let its = try other.transaction { (other) throws(PostgresError) in try other.serverProcess() }
            if mine == its { return true }
        }
        return false
    }

    /// Returns the number of the server process.
    ///
    /// It uses the simple protocol, because a prepared statement could belong to another client of the pooler.
    private func serverProcess() throws(PostgresError) -> String {
        try session.command("SELECT pg_backend_pid()::text", .nothing, deadline).text(0, 0)
    }
}
