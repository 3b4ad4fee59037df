import CPostgreSQL

/// Prepared statements and pipelines.
extension PostgresSession {
    /// Prepares all new statements in one round trip, and stores the types of their parameters.
    func prepare(_ statements: [Statement], _ deadline: Deadline) throws(PostgresError) {
        var missing: [Statement] = []
        for statement in statements where plans[statement] == nil && !missing.contains(statement) {
            guard !statement.sql.utf8.contains(0) else {
                throw PostgresError(.invalidParameter, "A statement's text holds a NUL and was not sent.")
            }
            missing.append(statement)
        }
        guard let first = missing.first else { return }
        if plans.isFull { try discardPlans(deadline) }
        let names = missing.map { _ in plans.newName() }
        // Two commands for each statement. After a failure the rest is skipped; the statements before it remain
        // prepared.
        let (reply, deadline) = try exchange(.preparing(first), .nothing, deadline) {
            (deadline) throws(ConnectionLoss) in
            try pipeline({ .preparing(missing[$0 / 2]) }, count: missing.count * 2, &deadline) {
                zip(missing, names).allSatisfy { statement, name in
                    PQsendPrepare(handle, name, statement.sql, 0, nil) == 1 && PQsendDescribePrepared(handle, name) == 1
                }
            }
        }
        for (index, statement) in missing.enumerated() {
            _ = try rows(of: reply[index * 2], .preparing(statement), deadline)
            let description = try rows(of: reply[index * 2 + 1], .preparing(statement), deadline)
            plans.keep(Plans.Plan(name: names[index], parameters: description.parameterTypes), for: statement)
        }
    }

    /// A prepared statement with its encoded parameters.
    struct Query {
        let plan: Plans.Plan
        let places: Range<Int>
    }

    /// Passes one prepared statement to libpq; returns `false` if libpq does not accept it.
    ///
    /// Results are binary.
    func send(_ query: Query) -> Bool {
        parameters.withPointers(query.places) { pointers in
            let (values, lengths, formats) = (pointers.values, pointers.lengths, pointers.formats)
            return PQsendQueryPrepared(handle, query.plan.name, pointers.count, values, lengths, formats, 1) == 1
        }
    }

    /// Passes a text for the simple protocol to libpq; returns `false` if libpq does not accept it.
    func send(_ text: String) -> Bool { PQsendQuery(handle, text) == 1 }

    private func discardPlans(_ deadline: Deadline) throws(PostgresError) {
        try command("DEALLOCATE ALL", .nothing, deadline)
        plans.forgetAll()
    }

    /// Runs one statement without parameters by the simple protocol.
    @discardableResult
    func command(_ text: String, _ effect: ConnectionLoss.PossibleEffect, _ deadline: Deadline) throws(PostgresError)
        -> Rows
    {
        let attempt = SessionOperation.command(text)
        let (answer, deadline) = try exchange(attempt, effect, deadline) { (deadline) throws(ConnectionLoss) in
            guard send(text) else { throw complaint() }
            return try collect(attempt, &deadline)
        }
        return try rows(of: answer, attempt, deadline)
    }

    /// Sends `count` commands and a sync together, and reads the answers in the same order.
    ///
    /// The manual: a sync yields `PGRES_PIPELINE_SYNC`, which no null follows, and after an error everything up to the
    /// sync is skipped and rolled back.
    func pipeline(
        _ attempt: (Int) -> SessionOperation,
        count: Int,
        _ deadline: inout Deadline,
        _ send: () -> Bool
    ) throws(ConnectionLoss) -> [ServerAnswer] {
        guard PQenterPipelineMode(handle) == 1, send(), PQpipelineSync(handle) == 1 else { throw complaint() }
        var answers: [ServerAnswer] = []
        answers.reserveCapacity(count)
        for index in 0..<count { answers.append(try collect(attempt(index), &deadline)) }
        if let last = answers.indices.last {
            try awaitSync(attempt(last), &answers[last], &deadline)
        }
        guard PQexitPipelineMode(handle) == 1 else { throw complaint() }
        return answers
    }

    /// Waits for the sync, at which the implicit transaction commits.
    ///
    /// The commit may still fail; such an error goes to the last answer.
    private func awaitSync(_ attempt: SessionOperation, _ last: inout ServerAnswer, _ deadline: inout Deadline)
        throws(ConnectionLoss)
    {
        for _ in 0..<8 {
            guard let result = try receive(&deadline) else { continue }
            if PQresultStatus(result) == PGRES_PIPELINE_SYNC {
                PQclear(result)
                return
            }
            try last.take(result, of: attempt)
        }
        throw ConnectionLoss("the server's answers are out of step")
    }
}

/// The prepared statements of one session.
struct Plans {
    struct Plan {
        let name: String
        /// The types that the server inferred for `$1`, `$2`, ….
        let parameters: [ServerType]
    }

    private var plans: [Statement: Plan] = [:]
    private var lastNumber = 0

    /// The maximum number of plans, which is more than any program declares.
    ///
    /// A program that creates texts at run time must not fill the server's memory.
    static let limit = 512

    var isFull: Bool { plans.count >= Self.limit }

    subscript(statement: Statement) -> Plan? { plans[statement] }

    /// Returns a name that is new in this session, because a forgotten plan keeps its name until the session ends.
    mutating func newName() -> String {
        lastNumber += 1
        return "b\(lastNumber)"
    }

    mutating func keep(_ plan: Plan, for statement: Statement) { plans[statement] = plan }

    /// Removes a plan that the server no longer has, or whose results a migration has changed.
    mutating func forget(_ statement: Statement) { plans[statement] = nil }

    mutating func forgetAll() { plans.removeAll() }
}
