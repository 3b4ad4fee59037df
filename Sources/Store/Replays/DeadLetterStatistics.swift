package import BellhopRules
package import Postgres

/// The values of the dead-letter metrics.
///
/// It reads a bounded number of items, however many are open: a limit for each reason of an app, and a limit between
/// the names of two known apps for all items that belong to no known app.
package struct DeadLetterStatistics: Sendable {
    /// The open items of one app and reason.
    package struct Open: Sendable {
        /// The app; `nil` for all items of unknown apps.
        package let app: AppID?
        package let reason: String
        /// The number of items, up to the limit of the count.
        package let items: Int
    }

    package let open: [Open]
    /// The seconds since the first failure of the oldest open item; `nil` if none is open.
    ///
    /// Of items of unknown apps, only the counted ones are included.
    package let oldestAge: Double?
    package let replaysRunning: Int
    package let replaysPaused: Int
    /// The outcomes of the replays that began within the last day.
    package let outcomes: [ReplayOutcome: Int]

    /// Reads all values and counts up to `most` items.
    package init(
        of pool: PostgresPool,
        apps: Set<AppID>,
        most: Int = 100_000
    ) async throws(PostgresError) {
        let names = apps.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let limit = Parameter.integer(Int64(most))
        let known = try await pool.run(Self.known, [.textArray(names), limit])
        let others = try await pool.run(
            Self.others,
            [.textArray([""] + names), .textArray(names + [Self.behindAll]), limit]
        )
        var open: [Open] = []
        var oldest: Double?
        for rows in [known, others] {
            for row in rows.indices {
                let items = try rows.number(row, 2)
                let app = try rows.optionalText(row, 0).flatMap(AppID.init(validating:))
                open.append(Open(app: app, reason: try rows.text(row, 1), items: items))
                if let age = try rows.optionalDouble(row, 3) { oldest = max(oldest ?? age, age) }
            }
        }
        self.open = open
        oldestAge = oldest
        let replays = try await pool.run(Self.replays)
        replaysRunning = try replays.number(0, 0)
        replaysPaused = try replays.number(0, 1)
        let outcomeRows = try await pool.run(Self.outcomes)
        var outcomes: [ReplayOutcome: Int] = [:]
        for row in outcomeRows.indices {
            guard let outcome = ReplayOutcome(rawValue: try outcomeRows.text(row, 0)) else { continue }
            outcomes[outcome] = try outcomeRows.number(row, 1)
        }
        self.outcomes = outcomes
    }

    /// A text after all app names.
    private static let behindAll = "\u{10FFFF}"

    /// Steps from one reason of an app to the next without reading the items in between, since there are few reasons.
    ///
    /// The first item of each reason in the index is its oldest. The pair is compared as a whole, so that an index that
    /// begins with the reason cannot be used.
    private static let known = Statement(
        """
        WITH RECURSIVE groups AS (
            SELECT a.app, 0 AS number, \(nextReason("a.app", after: "''")) AS reason FROM unnest($1::text[]) AS a (app)
            UNION ALL
            SELECT g.app, g.number + 1, \(nextReason("g.app", after: "g.reason")) FROM groups g
            WHERE g.reason IS NOT NULL AND g.number < 100
        )
        SELECT g.app, g.reason, c.items, extract(epoch FROM now() - c.oldest)::double precision
        FROM groups g CROSS JOIN LATERAL (
            SELECT count(*) AS items, min(first_failed_at) AS oldest FROM (
                SELECT first_failed_at FROM dead_letters
                WHERE state = 'open' AND (app, reason) >= (g.app, g.reason) AND (app, reason) <= (g.app, g.reason)
                ORDER BY app, reason, first_failed_at LIMIT $2
            ) AS counted
        ) AS c
        WHERE g.reason IS NOT NULL
        """,
        effect: .reads
    )

    private static func nextReason(_ app: String, after reason: String) -> String {
        """
        (SELECT d.reason FROM dead_letters d
         WHERE d.state = 'open' AND d.app = \(app) AND d.reason > \(reason)
         ORDER BY d.app, d.reason, d.first_failed_at LIMIT 1)
        """
    }

    /// Producers may invent any number of unknown apps, so that these are not distinguished.
    private static let others = Statement(
        """
        SELECT NULL::text, o.reason, count(*), extract(epoch FROM now() - min(o.first_failed_at))::double precision
        FROM (
            SELECT c.reason, c.first_failed_at FROM unnest($1::text[], $2::text[]) AS gap (above, below)
            CROSS JOIN LATERAL (
                SELECT reason, first_failed_at FROM dead_letters
                WHERE state = 'open' AND app > gap.above AND app < gap.below
                ORDER BY app, reason, first_failed_at LIMIT $3
            ) AS c
            UNION ALL (
                SELECT reason, first_failed_at FROM dead_letters WHERE state = 'open' AND app IS NULL
                ORDER BY app, reason, first_failed_at LIMIT $3
            )
        ) AS o
        GROUP BY o.reason
        """,
        effect: .reads
    )

    private static let replays = Statement(
        """
        SELECT count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'paused')
        FROM replays WHERE finished_at IS NULL
        """,
        effect: .reads
    )

    private static let outcomes = Statement(
        """
        SELECT i.outcome, count(*) FROM replays r
        CROSS JOIN LATERAL (
            SELECT outcome FROM replay_items WHERE replay_id = r.id AND state = 'settled' OFFSET 0
        ) AS i
        WHERE r.started_at > now() - interval '1 day'
        GROUP BY i.outcome
        """,
        effect: .reads
    )
}
