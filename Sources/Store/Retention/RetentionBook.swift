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
        /// Why the step has deleted nothing.
        package var doubt: Doubt?
    }

    /// What keeps a step from deleting.
    package enum Doubt: Sendable, Equatable {
        /// The database's clock and that of the caller differ by more than a minute.
        case clocks
        /// The limit would rise by more than a day: somebody was away for long, keeps less from now on, or a clock is wrong.
        ///
        /// How many rows that concerns is found by ``count(_:from:pages:upTo:)``.
        case leap(from: Instant?, to: Instant)
    }

    /// What a step checks before it deletes.
    package struct Caution: Sendable {
        /// The caller's clock.
        package let time: any TimeSource
        /// The limit up to which a count has shown nothing odd; nil if there was none.
        package var believed: Instant?

        package init(time: any TimeSource, believed: Instant? = nil) {
            self.time = time
            self.believed = believed
        }

        /// By how much the clocks may differ.
        static let tolerance = Duration.seconds(60)
    }

    /// By how much the limit may rise from one step to the next.
    package static let leap = Duration.seconds(86_400)

    /// Looks through so many pages from this one on; without `caution` nothing is checked before.
    package func look(
        for kind: RetiredKind,
        from page: Int64,
        pages: Int64,
        with caution: Caution? = nil
    ) async throws(PostgresError) -> Step {
        guard let age = kind.age(in: retention) else { return Step() }
        return try await pool.transaction { (connection) throws(PostgresError) in
            if let doubt = try caution?.doubt(about: kind, olderThan: age, on: connection) { return Step(doubt: doubt) }
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

    /// What a count of a part of a table has found.
    package struct Count: Sendable {
        package var looked = 0
        /// Rows that are older than the limit, some of which stay for other reasons.
        package var old = 0
        /// The page at which the next part begins; nil behind the last one.
        package var next: Int64?
    }

    /// Counts in so many pages from this one on what is older than a limit.
    package func count(
        _ kind: RetiredKind,
        from page: Int64,
        pages: Int64,
        upTo limit: Instant
    ) async throws(PostgresError) -> Count {
        try await pool.withConnection { (connection) throws(PostgresError) in
            guard let piece = try TablePiece(of: kind.table, from: page, pages: pages, on: connection) else {
                return Count()
            }
            let statement = RetentionStatements.count(kind)
            let rows = try connection.run(statement, piece.bounds + [.instant(limit.microseconds)])
            return Count(looked: try rows.number(0, 0), old: try rows.number(0, 1), next: piece.next)
        }
    }

    /// Raises the noted limit of a table in which nothing is old by a day, unless somebody else has done so.
    package func raise(_ kind: RetiredKind, from former: Instant) async throws(PostgresError) {
        _ = try await pool.run(RetentionStatements.raise, [.text(kind.rawValue), .instant(former.microseconds)])
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

extension RetentionBook.Caution {
    /// By the clock of the transaction, which is the one that rows are compared with.
    fileprivate func doubt(
        about kind: RetiredKind,
        olderThan age: Duration,
        on connection: PostgresConnection
    ) throws(PostgresError) -> RetentionBook.Doubt? {
        let parameters: [Parameter] = [.text(kind.rawValue), .integer(age.milliseconds)]
        let rows = try connection.run(RetentionStatements.limits, parameters)
        let offset = time.now() - Instant(microseconds: try rows.instant(0, 0))
        guard max(offset, .zero - offset) <= Self.tolerance else { return .clocks }
        let limit = Instant(microseconds: try rows.instant(0, 1))
        let former = try rows.optionalInstant(0, 2).map { Instant(microseconds: $0) }
        let known = max(former ?? .distantPast, believed ?? .distantPast)
        return limit > known + RetentionBook.leap ? .leap(from: former, to: limit) : nil
    }
}
