package import Postgres
package import ServiceRuntime

/// Deletes what has been kept for long enough, and nothing that somebody still waits for.
///
/// No index knows how old a row is: one more on the tables that grow with every event would cost every event. So each
/// table is walked, a bounded number of pages at a time, each a transaction. What somebody else has in hand is left for
/// the next walk, so that any number may walk at once and nobody waits for them. How far it has gone stands in `retired`,
/// for a ``ReplayHorizon``.
package struct RetentionBook: Sendable {
    private let pool: PostgresPool
    private let retention: Retention

    package init(pool: PostgresPool, retention: Retention) {
        self.pool = pool
        self.retention = retention
    }

    /// What is to be looked through; what never goes is not.
    package var kinds: [RetiredKind] {
        RetiredKind.allCases.filter { $0.age(in: retention) != nil }
    }

    /// What one step of a walk came to.
    package struct Step: Sendable {
        package var retired: [RetiredKind: Int] = [:]
        /// The page at which the next step begins; nil behind the last one.
        package var next: Int64?
    }

    /// Looks through so many pages from this one on.
    package func look(
        for kind: RetiredKind,
        from page: Int64,
        pages: Int64
    ) async throws(PostgresError) -> Step {
        guard let age = kind.age(in: retention) else { return Step() }
        return try await pool.transaction { (connection) throws(PostgresError) in
            guard let piece = try TablePiece(of: kind.table, from: page, pages: pages, on: connection) else {
                return Step()
            }
            let age = Parameter.integer(age.milliseconds)
            // By the same clock as what is deleted: that of the transaction.
            _ = try connection.run(RetentionStatements.note, [.text(kind.rawValue), age])
            let rows = try connection.run(Self.statement(kind), piece.bounds + [age])
            guard kind == .notifications else { return Step(retired: [kind: rows.affectedCount], next: piece.next) }
            let retired = [RetiredKind.notifications: try rows.number(0, 0), .deliveries: try rows.number(0, 1)]
            return Step(retired: retired, next: piece.next)
        }
    }

    private static func statement(_ kind: RetiredKind) -> Statement {
        switch kind {
        case .notifications: RetentionStatements.notifications
        case .deliveries: RetentionStatements.deliveries
        case .events: RetentionStatements.events
        case .tombstones: RetentionStatements.tombstones
        case .tokens: RetentionStatements.tokens
        case .devices: RetentionStatements.devices
        case .follows: RetentionStatements.follows
        case .reminders: RetentionStatements.reminders
        }
    }
}
