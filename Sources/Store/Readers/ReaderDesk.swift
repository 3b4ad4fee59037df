package import BellhopRules
package import Postgres

/// What a signed-in user sees and does, with no more rights than their own.
///
/// The pool has the rights of `bellhop_api`: who is signed in is said for each transaction, and row-level security shows
/// and takes nothing but theirs. The statements name the user all the same.
package struct ReaderDesk: Sendable {
    private let pool: PostgresPool
    private var token = Token.none

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What the user signed in with.
    enum Token: Hashable, Sendable {
        /// Nothing that an erasure ends, such as a link that proves whom it is for.
        case none
        /// A token, and when it was issued; `nil` if it does not tell.
        case issued(Timestamp?)
    }

    /// The desk for a token that was issued at that time: every call fails with ``SQLState/erasedReader`` if the user has
    /// been erased since.
    ///
    /// `nil` stands for a token that does not tell its age: it may be older than any erasure.
    package func admitting(tokenIssuedAt time: Timestamp?) -> ReaderDesk {
        var desk = self
        desk.token = .issued(time)
        return desk
    }

    /// When the token was issued, if it tells.
    var issuedAt: Timestamp? {
        guard case .issued(let time) = token else { return nil }
        return time
    }

    /// Fails if the user has been erased since the token was issued.
    package func admit(_ reader: RecipientKey) async throws(PostgresError) {
        _ = try await ask(reader, [])
    }

    /// Runs statements in one round trip and one transaction.
    func ask(
        _ reader: RecipientKey,
        _ questions: [(statement: Statement, parameters: [Parameter])]
    ) async throws(PostgresError) -> [Rows] {
        let batch = [(statement: Self.signIn, parameters: signIn(reader))] + questions
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
            _ = try connection.run(Self.signIn, signIn(reader))
            return try body(connection)
        }
    }

    /// App and user, `$1` and `$2` of most statements.
    static func who(_ reader: RecipientKey) -> [Parameter] {
        [.text(reader.app.text), .text(reader.user.text)]
    }

    private func signIn(_ reader: RecipientKey) -> [Parameter] {
        let subject: Parameter =
            token == .none ? .null : .bytes(SubjectHash.recipient(reader.app, reader.user).bytes)
        return Self.who(reader) + [subject, issuedAt.map { .instant($0.microseconds) } ?? .null]
    }

    private static let signIn = Statement("SELECT sign_in($1, $2, $3, $4)", effect: .reads)
}

extension SQLState {
    /// What `sign_in` answers for a token that was issued before its user was erased.
    package static let erasedReader = SQLState("BH401")
}
