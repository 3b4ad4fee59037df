package import Postgres

/// What dashboards want to know of the desk.
package struct DeadLetterGauge: Sendable {
    /// Open items of one app and reason.
    package struct Open: Sendable {
        package let app: String
        package let reason: String
        package let items: Int
    }

    package let open: [Open]
    /// Seconds since the oldest open item failed first; nil where none is open.
    package let oldestAge: Double?
    package let replaysRunning: Int
    package let replaysPaused: Int
    /// Of the replays that began within the last day.
    package let outcomes: [ReplayOutcome: Int]

    /// Reads all of it.
    package init(of pool: PostgresPool) async throws(PostgresError) {
        let openRows = try await pool.run(Self.openItems)
        open = try openRows.map { (rows, row) throws(PostgresError) in
            Open(
                app: try rows.text(row, 0),
                reason: try rows.text(row, 1),
                items: try rows.number(row, 2)
            )
        }
        let rest = try await pool.run(Self.rest)
        oldestAge = try rest.optionalDouble(0, 0)
        replaysRunning = try rest.number(0, 1)
        replaysPaused = try rest.number(0, 2)
        let outcomeRows = try await pool.run(Self.outcomes)
        var outcomes: [ReplayOutcome: Int] = [:]
        for row in outcomeRows.indices {
            guard let outcome = ReplayOutcome(rawValue: try outcomeRows.text(row, 0)) else { continue }
            outcomes[outcome] = try outcomeRows.number(row, 1)
        }
        self.outcomes = outcomes
    }

    private static let openItems = Statement(
        """
        SELECT coalesce(app, '-'), reason, count(*) FROM dead_letters WHERE state = 'open' GROUP BY app, reason
        """,
        effect: .reads
    )

    private static let rest = Statement(
        """
        SELECT (SELECT extract(epoch FROM now() - min(first_failed_at))::double precision FROM dead_letters
                WHERE state = 'open'),
               count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'paused')
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
