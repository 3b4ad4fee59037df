package import Postgres
package import ServiceRuntime
package import Settings

/// Deletes rows after their retention period, except rows with open work.
///
/// No index contains the age of rows, since another index on the fastest-growing tables would cost every event. Each
/// table is therefore scanned, a bounded number of pages per transaction. Locked rows are left for the next scan, so
/// that any number of scans may run concurrently and no statement waits for them. The progress is stored in `retired`,
/// for a ``ReplayHorizon``.
package struct RetentionStore: Sendable {
    private let pool: PostgresPool
    private let retention: Retention

    package init(pool: PostgresPool, retention: Retention) {
        self.pool = pool
        self.retention = retention
    }

    /// The kinds to scan.
    ///
    /// Kinds that are kept indefinitely are not included.
    package var kinds: [RetentionKind] {
        RetentionKind.allCases.filter { $0.age(in: retention) != nil }
    }

    /// The result of one step of a scan.
    package struct Step: Sendable {
        package var retired: [RetentionKind: Int] = [:]
        /// The page at which the next step begins; `nil` after the last page.
        package var next: Int64?
        /// The reason why the step has deleted nothing.
        package var doubt: Doubt?
    }

    /// A reason not to delete.
    package enum Doubt: Sendable, Equatable {
        /// The database clock and the caller's clock differ by more than a minute.
        case clocks
        /// The limit would rise by more than a day: no scheduler ran for long, the retention period was shortened, or a
        /// clock is wrong.
        ///
        /// ``count(_:from:pages:upTo:)`` returns the number of affected rows.
        case leap(from: Instant?, to: Instant)
    }

    /// The checks of a step before it deletes.
    package struct Caution: Sendable {
        /// The caller's clock.
        package let time: any TimeSource
        /// The limit up to which a count was plausible; `nil` if there was no count.
        package var believed: Instant?

        package init(time: any TimeSource, believed: Instant? = nil) {
            self.time = time
            self.believed = believed
        }

        /// The permitted difference of the clocks.
        static let tolerance = Duration.seconds(60)
    }

    /// The maximum rise of the limit from one step to the next.
    package static let leap = Duration.seconds(86_400)

    /// Scans `pages` pages, beginning at `page`.
    ///
    /// Without `caution` nothing is checked before.
    package func look(
        for kind: RetentionKind,
        from page: Int64,
        pages: Int64,
        with caution: Caution? = nil
    ) async throws(PostgresError) -> Step {
        guard let age = kind.age(in: retention) else { return Step() }
        return try await pool.transaction { (connection) throws(PostgresError) in
            if let doubt = try caution?.doubt(about: kind, olderThan: age, on: connection) { return Step(doubt: doubt) }
            guard let piece = try PageRange(of: kind.table, from: page, pages: pages, on: connection) else {
                return Step()
            }
            let age = Parameter.integer(age.milliseconds)
            // Uses the clock that the deletion uses: the transaction's.
            _ = try connection.run(RetentionStatements.note, [.text(kind.rawValue), age])
            let rows = try connection.run(Self.statement(kind), piece.bounds + [age])
            guard kind == .notifications else { return Step(retired: [kind: rows.affectedCount], next: piece.next) }
            let retired = [RetentionKind.notifications: try rows.number(0, 0), .deliveries: try rows.number(0, 1)]
            return Step(retired: retired, next: piece.next)
        }
    }

    /// The result of a count in a part of a table.
    package struct Count: Sendable {
        package var looked = 0
        /// The number of rows that are older than the limit.
        ///
        /// Some of them are kept for other reasons.
        package var old = 0
        /// The page at which the next part begins; `nil` after the last page.
        package var next: Int64?
    }

    /// Counts rows that are older than a limit, in `pages` pages beginning at `page`.
    package func count(
        _ kind: RetentionKind,
        from page: Int64,
        pages: Int64,
        upTo limit: Instant
    ) async throws(PostgresError) -> Count {
        try await pool.withConnection { (connection) throws(PostgresError) in
            guard let piece = try PageRange(of: kind.table, from: page, pages: pages, on: connection) else {
                return Count()
            }
            let statement = RetentionStatements.count(kind)
            let rows = try connection.run(statement, piece.bounds + [.instant(limit.microseconds)])
            return Count(looked: try rows.number(0, 0), old: try rows.number(0, 1), next: piece.next)
        }
    }

    /// Raises the stored limit of a table without old rows by a day, unless another process has done so.
    package func raise(_ kind: RetentionKind, from former: Instant) async throws(PostgresError) {
        _ = try await pool.run(RetentionStatements.raise, [.text(kind.rawValue), .instant(former.microseconds)])
    }

    private static func statement(_ kind: RetentionKind) -> Statement {
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

extension RetentionStore.Caution {
    /// Uses the transaction's clock, with which rows are compared.
    fileprivate func doubt(
        about kind: RetentionKind,
        olderThan age: Duration,
        on connection: PostgresConnection
    ) throws(PostgresError) -> RetentionStore.Doubt? {
        let parameters: [Parameter] = [.text(kind.rawValue), .integer(age.milliseconds)]
        let rows = try connection.run(RetentionStatements.limits, parameters)
        let offset = time.now() - Instant(microseconds: try rows.instant(0, 0))
        guard max(offset, .zero - offset) <= Self.tolerance else { return .clocks }
        let limit = Instant(microseconds: try rows.instant(0, 1))
        let former = try rows.optionalInstant(0, 2).map { Instant(microseconds: $0) }
        let known = max(former ?? .distantPast, believed ?? .distantPast)
        return limit > known + RetentionStore.leap ? .leap(from: former, to: limit) : nil
    }
}

/// A piece of a table by the positions of its rows, without an index.
///
/// In a partitioned table it is a piece of each partition, since they have about the same size.
struct PageRange: Sendable {
    /// The parameters `$1` and `$2` of a statement that scans the piece: the first position, and the end, which is
    /// excluded.
    let bounds: [Parameter]
    /// The page at which the next piece begins; `nil` after the last page.
    let next: Int64?

    /// Returns the condition for a statement in which the table has this alias.
    static func condition(_ table: String) -> String {
        "\(table).ctid >= $1::text::tid AND \(table).ctid < $2::text::tid"
    }

    /// Creates a piece of `pages` pages, beginning at `page`; `nil` after the table's end.
    init?(
        of table: String,
        from page: Int64,
        pages: Int64,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let shape = try connection.run(Self.shape, [.text(table)])
        let (size, parts) = (try shape.integer(0, 0), try shape.integer(0, 1))
        guard page >= 0, page < size else { return nil }
        let end = min(size, page + max(1, pages / max(1, parts)))
        bounds = [.text("(\(page),0)"), .text("(\(end),0)")]
        next = end < size ? end : nil
    }

    /// Returns the number of pages of the table or of its largest partition, and the number of partitions.
    private static let shape = Statement(
        """
        SELECT greatest(pg_relation_size($1::text::regclass), max(pg_relation_size(t.relid)))
                   / current_setting('block_size')::bigint,
               count(*)
        FROM pg_partition_tree($1::text::regclass) AS t WHERE t.isleaf
        """,
        effect: .reads
    )
}
