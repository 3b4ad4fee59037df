package import Postgres

/// What a signed-in user sees and does, with no more rights than their own.
///
/// The pool has the rights of `bellhop_api`: who is signed in is said for each transaction, and row-level security shows
/// and takes nothing but theirs. The statements name the user all the same.
package struct ReaderDesk: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Runs statements in one round trip and one transaction.
    func ask(
        _ reader: RecipientKey,
        _ questions: [(statement: Statement, parameters: [Parameter])]
    ) async throws(PostgresError) -> [Rows] {
        let batch = [(statement: Self.signIn, parameters: Self.who(reader))] + questions
        let answers = try await pool.withConnection { (connection) throws(PostgresError) in
            try connection.pipeline(batch)
        }
        return Array(answers.dropFirst())
    }

    /// Runs a body in a transaction of the user's.
    func act<Value: Sendable>(
        as reader: RecipientKey,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await pool.transaction { (connection) throws(PostgresError) in
            _ = try connection.run(Self.signIn, Self.who(reader))
            return try body(connection)
        }
    }

    /// App and user, `$1` and `$2` of most statements.
    static func who(_ reader: RecipientKey) -> [Parameter] {
        [.text(reader.app.text), .text(reader.user.text)]
    }

    private static let signIn = Statement(
        "SELECT set_config('bellhop.app', $1, true), set_config('bellhop.user', $2, true)",
        effect: .reads
    )
}
