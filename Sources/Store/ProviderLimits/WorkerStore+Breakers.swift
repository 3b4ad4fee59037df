package import BellhopRules
package import Postgres

/// The part of an outlet that a breaker stops.
package typealias BreakerKey = OutletScope

/// A provider that rejects the app's credentials or settings.
package struct OpenBreaker: Sendable, Equatable {
    package let key: BreakerKey
    package let reason: String
    /// Microseconds since 1970.
    package let openedAt: Int64
    /// The time until the next probe; not negative.
    package let probeIn: Duration
    /// The number of rejected probes since the breaker opened.
    package let failures: Int
}

extension OpenBreaker {
    /// The reason of a breaker that is open because many devices were reported as gone.
    package static let massDeath = "mass-death"

    /// Returns all open breakers.
    package static func all(on pool: PostgresPool) async throws(PostgresError) -> [OpenBreaker] {
        let rows = try await pool.run(Self.all, [])
        return try rows.compactMap { (rows, row) throws(PostgresError) in
            guard let app = AppID(validating: try rows.text(row, 0)) else { return nil }
            let platform = DevicePlatform(rawValue: try rows.text(row, 2))
            return OpenBreaker(
                key: BreakerKey(app: app, provider: try rows.text(row, 1), platform: platform),
                reason: try rows.text(row, 3),
                openedAt: try rows.instant(row, 4),
                probeIn: .milliseconds(max(0, try rows.integer(row, 5))),
                failures: try rows.number(row, 6)
            )
        }
    }

    private static let all = Statement(
        """
        SELECT app, provider, platform, reason, opened_at,
               ceil(extract(epoch FROM probe_at - now()) * 1000)::bigint, failures::bigint
        FROM breakers ORDER BY app, provider, platform
        """,
        effect: .reads
    )
}

/// The result of a request for a probe that is due.
package enum ProbeClaim: Sendable, Equatable {
    /// This worker may send the probe.
    case mayProbe
    /// Another worker's probe was accepted meanwhile.
    case isClosed
    /// Another worker is sending the probe, or its probe was rejected meanwhile.
    case later(Duration)
}

/// The table `breakers`, in which workers share their breakers.
///
/// Times are those of the database clock.
extension WorkerStore {
    package func openBreakers() async throws(PostgresError) -> [OpenBreaker] {
        try await OpenBreaker.all(on: pool)
    }

    /// Opens a breaker unless it is open already.
    ///
    /// With the reason ``OpenBreaker/massDeath``, all answers of the last ten minutes that revoke devices are
    /// doubted. This also applies to a breaker that was opened for another reason.
    package func open(_ key: BreakerKey, reason: String) async throws(PostgresError) {
        _ = try await pool.run(Self.open, key.parameters + [.text(reason), .integer(firstPause.milliseconds)])
    }

    /// Records a rejected probe and schedules the next one.
    ///
    /// After a conclusive answer (`isTelling`) the interval doubles with each rejection; after any other answer it is
    /// ``firstPause``.
    package func reopen(_ key: BreakerKey, reason: String, isTelling: Bool = true) async throws(PostgresError) {
        let pause: [Parameter] = [.integer(firstPause.milliseconds), .boolean(isTelling)]
        _ = try await pool.run(Self.reopen, key.parameters + [.text(reason)] + pause)
    }

    /// Returns the time since which the provider's answers that devices are gone are doubted; `nil` if they are not, or
    /// if the breaker is closed.
    ///
    /// It does not change while the breaker is open, even if the reason changes.
    package func deathsSince(_ key: BreakerKey) async throws(PostgresError) -> Timestamp? {
        let rows = try await pool.run(Self.deaths, key.parameters)
        return rows.isEmpty ? nil : try rows.optionalInstant(0, 0).map(Timestamp.init(clamping:))
    }

    /// Closes a breaker after an accepted probe and returns whether it was open.
    package func close(_ key: BreakerKey) async throws(PostgresError) -> Bool {
        try await pool.run(Self.close, key.parameters).affectedCount > 0
    }

    /// Requests the probe.
    ///
    /// Of all workers that request it, one may send it.
    ///
    /// If a probe's outcome is not reported because its worker died, another worker may probe after half a minute.
    package func knock(_ key: BreakerKey) async throws(PostgresError) -> ProbeClaim {
        let rows = try await pool.run(Self.knock, key.parameters)
        guard rows.count == 1 else { return .isClosed }
        guard try !rows.boolean(0, 0) else { return .mayProbe }
        return .later(.milliseconds(max(0, try rows.integer(0, 1))))
    }

    /// Returns an unsent probe, so that the next worker that requests it may send it.
    package func giveBackProbe(of key: BreakerKey) async throws(PostgresError) {
        _ = try await pool.run(Self.giveBack, key.parameters)
    }

    private static let isKey = "app = $1 AND provider = $2 AND platform = $3"

    private static let open = Statement(
        """
        INSERT INTO breakers AS b (app, provider, platform, reason, probe_at, deaths_since)
        VALUES ($1, $2, $3, $4, now() + $5::bigint * interval '1 ms', \(doubt))
        ON CONFLICT (app, provider, platform) DO UPDATE SET deaths_since = excluded.deaths_since
            WHERE b.deaths_since IS NULL AND excluded.deaths_since IS NOT NULL
        """
    )

    private static let doubt = "CASE $4 WHEN '\(OpenBreaker.massDeath)' THEN now() - interval '10 min' END"

    /// A breaker that an older version opened has no `deaths_since`.
    private static let deaths = Statement(
        """
        SELECT coalesce(deaths_since, CASE reason WHEN '\(OpenBreaker.massDeath)' THEN opened_at - interval '10 min' END)
        FROM breakers WHERE \(isKey)
        """,
        effect: .reads
    )

    private static let reopen = Statement(
        """
        UPDATE breakers
        SET reason = $4, failures = failures + 1, deaths_since = coalesce(deaths_since, \(doubt)),
            probe_at = now() + interval '1 ms'
                * CASE WHEN $6 THEN least($5::bigint * power(2, least(failures + 1, 20)), 300000) ELSE $5::bigint END
        WHERE \(isKey)
        """
    )

    private static let close = Statement("DELETE FROM breakers WHERE \(isKey)")

    private static let knock = Statement(
        """
        WITH mine AS (
            UPDATE breakers SET probe_at = now() + interval '30 s' WHERE \(isKey) AND probe_at <= now() RETURNING app
        )
        SELECT EXISTS (SELECT FROM mine), ceil(extract(epoch FROM probe_at - now()) * 1000)::bigint
        FROM breakers WHERE \(isKey)
        """
    )

    private static let giveBack = Statement("UPDATE breakers SET probe_at = now() WHERE \(isKey)")
}

extension BreakerKey {
    fileprivate var parameters: [Parameter] { [.text(app.text), .text(provider), .text(platform?.rawValue ?? "")] }
}
