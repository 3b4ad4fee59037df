package import Postgres
package import ServiceRuntime

/// Compares the database clock with this host's clock.
package struct DatabaseClock: Sendable {
    private let pool: PostgresPool
    private let time: any TimeSource

    package init(pool: PostgresPool, time: any TimeSource) {
        self.pool = pool
        self.time = time
    }

    /// One comparison of both clocks.
    package struct Comparison: Sendable {
        /// The time by which this host's clock is ahead of the database clock; negative if it is behind.
        package let offset: Duration
        /// The maximum error of the offset, since the round trip may have spent all of its time in one direction.
        package let uncertainty: Duration
        /// The readings of this host's clocks at the same moment.
        package let wall: Instant
        package let steady: ContinuousClock.Instant

        package init(offset: Duration, uncertainty: Duration, wall: Instant, steady: ContinuousClock.Instant) {
            self.offset = offset
            self.uncertainty = uncertainty
            self.wall = wall
            self.steady = steady
        }

        /// Whether the clocks differ by more than the tolerance.
        package var differs: Bool { differs(by: offset) }

        /// Returns whether an offset that has changed since exceeds the tolerance.
        package func differs(by offset: Duration) -> Bool {
            max(offset, .zero - offset) > DatabaseClock.tolerance + uncertainty
        }
    }

    /// The permitted difference of the clocks, in addition to the uncertainty of the comparison.
    package static let tolerance = Duration.seconds(30)

    /// Compares the clocks on a free connection, so that a wait for a connection is not part of the round trip.
    package func compare() async throws(PostgresError) -> Comparison {
        let time = time
        return try await pool.withConnection { (connection) throws(PostgresError) in
            let (wall, steady) = (time.now(), time.steady())
            let database = Instant(microseconds: try connection.run(Self.ask).instant(0, 0))
            let half = (time.steady() - steady) / 2
            return Comparison(offset: wall + half - database, uncertainty: half, wall: wall, steady: steady)
        }
    }

    private static let ask = Statement("SELECT clock_timestamp()", effect: .reads)
}
