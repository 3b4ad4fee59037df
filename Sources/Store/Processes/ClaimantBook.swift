package import Postgres

/// The table `claimants`: processes that claim deliveries, each under a number that its claims carry.
///
/// A claimant counts its beats there, and holds a lock for as long as its session lives: a session ends with its process, at
/// once, and a beat is missing also where a server has lost all sessions. Whoever lacks both is dead.
package struct ClaimantBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A claimant as one look finds it.
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

    /// A number for a process that begins.
    package func enrol() async throws(PostgresError) -> Int64 {
        try await pool.run(Self.enrol).integer(0, 0)
    }

    /// Writes down how often a claimant has beaten; its row may have been lost with a server.
    package func beat(_ number: Int64, _ beats: Int64) async throws(PostgresError) {
        _ = try await pool.run(Self.beat, [.integer(number), .integer(beats)])
    }

    /// The youngest claimants, at most ``most``; the locks of the `dead` are not tried again.
    package func sightings(knowing dead: [Int64] = []) async throws(PostgresError) -> [Sighting] {
        try await pool.run(Self.sightings, [.integerArray(dead)]).map { (rows, row) throws(PostgresError) in
            Sighting(
                number: try rows.integer(row, 0),
                beats: try rows.integer(row, 1),
                isUnlocked: try rows.boolean(row, 2)
            )
        }
    }

    /// Strikes off claimants of which nothing can be left.
    package func forget(_ numbers: [Int64]) async throws(PostgresError) {
        guard !numbers.isEmpty else { return }
        _ = try await pool.run(Self.forget, [.integerArray(numbers)])
    }

    /// What a session has to say to hold a claimant's lock until it ends.
    ///
    /// Shared, so that it waits for nobody but a look, which takes a moment.
    package static func lock(_ number: Int64) -> String {
        "SELECT pg_advisory_lock_shared(\(lockSpace), \(number))"
    }

    /// As many as are looked at.
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
