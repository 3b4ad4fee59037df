package import Postgres
package import ServiceRuntime

/// The database's clock, compared with this host's.
package struct DatabaseClock: Sendable {
    private let pool: PostgresPool
    private let time: any TimeSource

    package init(pool: PostgresPool, time: any TimeSource) {
        self.pool = pool
        self.time = time
    }

    /// One look at both clocks.
    package struct Comparison: Sendable {
        /// By how much this host's clock is ahead of the database's; negative if it is behind.
        package let offset: Duration
        /// By how much the offset may be wrong: the round trip may have taken all of its time on one way.
        package let uncertainty: Duration
        /// This host's clocks at the same moment.
        package let wall: Instant
        package let steady: ContinuousClock.Instant

        package init(offset: Duration, uncertainty: Duration, wall: Instant, steady: ContinuousClock.Instant) {
            self.offset = offset
            self.uncertainty = uncertainty
            self.wall = wall
            self.steady = steady
        }

        /// Whether the clocks differ by more than is tolerated.
        package var differs: Bool { differs(by: offset) }

        /// The same for an offset that has changed since.
        package func differs(by offset: Duration) -> Bool {
            max(offset, .zero - offset) > DatabaseClock.tolerance + uncertainty
        }
    }

    /// By how much the clocks may differ, beyond the uncertainty of the comparison.
    package static let tolerance = Duration.seconds(30)

    /// Asks on a connection that is free, so that a wait for one does not count as a part of the round trip.
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
