package import BellhopRules
package import Postgres

/// A signed-in user's queries and actions, with the user's own rights only.
///
/// The pool has the rights of `bellhop_api`. Each transaction states the signed-in user, and row-level security
/// restricts it to that user's rows. The statements name the user as well.
package struct UserStore: Sendable {
    private let pool: PostgresPool
    private var token = Token.none

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The user's proof of identity.
    enum Token: Hashable, Sendable {
        /// A proof that an erasure does not end, such as a link that proves its user.
        case none
        /// A token with its time of issue; `nil` if the token does not state it.
        case issued(Timestamp?)
    }

    /// Returns a copy for a token with this time of issue.
    ///
    /// Every call of it fails with ``SQLState/erasedReader`` if the user has been erased since.
    ///
    /// `nil` means that the token does not state its age, so that it may be older than any erasure.
    package func admitting(tokenIssuedAt time: Timestamp?) -> UserStore {
        var desk = self
        desk.token = .issued(time)
        return desk
    }

    /// The token's time of issue, if it states one.
    var issuedAt: Timestamp? {
        guard case .issued(let time) = token else { return nil }
        return time
    }

    /// Throws an error if the user has been erased since the token was issued.
    package func admit(_ reader: UserKey) async throws(PostgresError) {
        _ = try await ask(reader, [])
    }

    /// Runs statements in one round trip and one transaction.
    func ask(
        _ reader: UserKey,
        _ questions: [(statement: Statement, parameters: [Parameter])]
    ) async throws(PostgresError) -> [Rows] {
        let batch = [(statement: Self.signIn, parameters: signIn(reader))] + questions
        let answers = try await pool.withConnection { (connection) throws(PostgresError) in
            try connection.pipeline(batch)
        }
        return Array(answers.dropFirst())
    }

    /// Runs a body in a transaction with the user's rights.
    func act<Value: Sendable>(
        as reader: UserKey,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await pool.transaction { (connection) throws(PostgresError) in
            _ = try connection.run(Self.signIn, signIn(reader))
            return try body(connection)
        }
    }

    /// Returns app and user, the parameters `$1` and `$2` of most statements.
    static func who(_ reader: UserKey) -> [Parameter] {
        [.text(reader.app.text), .text(reader.user.text)]
    }

    private func signIn(_ reader: UserKey) -> [Parameter] {
        let subject: Parameter =
            token == .none ? .null : .bytes(IdentityHash.recipient(reader.app, reader.user).bytes)
        return Self.who(reader) + [subject, issuedAt.map { .instant($0.microseconds) } ?? .null]
    }

    private static let signIn = Statement("SELECT sign_in($1, $2, $3, $4)", effect: .reads)
}

extension SQLState {
    /// The error of `sign_in` for a token that was issued before its user was erased.
    package static let erasedReader = SQLState("BH401")
}
