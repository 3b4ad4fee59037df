package import Postgres

/// The table `claimants`: processes that claim deliveries, each with a number that its claims contain.
///
/// A claimant counts its heartbeats there and holds a lock during its session. The session ends as soon as the process
/// does. A missing heartbeat also covers the case that a server has lost all sessions. A claimant with neither lock nor
/// heartbeat is dead.
package struct ClaimantBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The state of a claimant in one query.
    package struct Sighting: Sendable {
        package let number: Int64
        package let beats: Int64
        /// Whether no session holds its lock.
        package let isUnlocked: Bool

        package init(number: Int64, beats: Int64, isUnlocked: Bool) {
            self.number = number
            self.beats = beats
            self.isUnlocked = isUnlocked
        }
    }

    /// Registers a new process and returns its number.
    package func enrol() async throws(PostgresError) -> Int64 {
        try await pool.run(Self.enrol).integer(0, 0)
    }

    /// Stores a claimant's number of heartbeats.
    ///
    /// Its row may have been lost with a server.
    package func beat(_ number: Int64, _ beats: Int64) async throws(PostgresError) {
        _ = try await pool.run(Self.beat, [.integer(number), .integer(beats)])
    }

    /// Returns the youngest claimants, at most ``most``.
    ///
    /// The locks of the `dead` are not tested again.
    package func sightings(knowing dead: [Int64] = []) async throws(PostgresError) -> [Sighting] {
        try await pool.run(Self.sightings, [.integerArray(dead)]).map { (rows, row) throws(PostgresError) in
            Sighting(
                number: try rows.integer(row, 0),
                beats: try rows.integer(row, 1),
                isUnlocked: try rows.boolean(row, 2)
            )
        }
    }

    /// Deletes claimants of which no claim can remain.
    package func forget(_ numbers: [Int64]) async throws(PostgresError) {
        guard !numbers.isEmpty else { return }
        _ = try await pool.run(Self.forget, [.integerArray(numbers)])
    }

    /// Returns the SQL with which a session takes a claimant's lock until it ends.
    ///
    /// The lock is shared, so that it waits only for a test of the lock, which is short.
    package static func lock(_ number: Int64) -> String {
        "SELECT pg_advisory_lock_shared(\(lockSpace), \(number))"
    }

    /// The maximum number of claimants in a query.
    package static let most = 1_024

    private static let lockSpace = "hashtext(current_schema() || ' claimant')"

    private static let enrol = Statement("INSERT INTO claimants DEFAULT VALUES RETURNING number::bigint")

    private static let beat = Statement(
        """
        INSERT INTO claimants (number, beats) VALUES ($1::bigint, $2)
        ON CONFLICT (number) DO UPDATE SET beats = excluded.beats
        """
    )

    private static let sightings = Statement(
        """
        SELECT c.number::bigint, c.beats,
               CASE WHEN c.number = ANY ($1::bigint[]) THEN true
                    ELSE pg_try_advisory_xact_lock(\(lockSpace), c.number) END
        FROM (SELECT number, beats FROM claimants ORDER BY number DESC LIMIT \(most)) AS c
        """
    )

    private static let forget = Statement("DELETE FROM claimants WHERE number = ANY ($1::bigint[])")
}

/// The database session that holds the lock of a process with claims, until the process ends or closes it.
package final class ClaimantSession: Sendable {
    /// The number of the process in its claims.
    package let number: Int64
    private let lock: NotificationListener

    /// Registers the process and takes its lock.
    ///
    /// `options` contains the options of the session, with the rights of its role.
    package init(registeredIn book: ClaimantBook, options: ListenerOptions) async throws(StoreError) {
        number = try await book.enrol()
        var options = options
        options.setUp.append(ClaimantBook.lock(number))
        lock = NotificationListener(options)
    }

    /// Ends the session and thus releases the lock.
    package func close() {
        lock.close()
    }
}
