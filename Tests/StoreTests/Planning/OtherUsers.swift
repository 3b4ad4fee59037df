import IntegrationSupport
import Postgres

/// Rows of other users in every table, enough of them that a scan of all is noticed.
enum OtherUsers {
    static let size = 20_000

    private static let tables = [
        "inbox", "ledger", "people", "recipients", "notification_preferences", "push_subscriptions", "follows",
        "reminders", "badge_updates", "events", "tombstones", "dead_letters", "replays", "replay_items", "breakers",
        "provider_budgets", "fanouts", "fanout_pages",
    ]

    /// Switches autovacuum off, so that only the test updates the statistics.
    static func stopCounting(in servers: ServerFixture) async throws {
        let statements = tables.map { "ALTER TABLE \($0) SET (autovacuum_enabled = off);" }.joined()
        try await servers.owner.withConnection { (connection) throws(PostgresError) in
            try connection.execute(statements)
        }
    }

    /// Leaves the tables without a page.
    static func forget(in servers: ServerFixture) async throws {
        let all = tables.joined(separator: ", ")
        try await servers.owner.withConnection { (connection) throws(PostgresError) in
            try connection.execute("TRUNCATE \(all) CASCADE")
        }
    }

    static func count(in servers: ServerFixture) async throws {
        let all = tables.joined(separator: ", ")
        try await servers.owner.withConnection { (connection) throws(PostgresError) in
            try connection.execute("ANALYZE \(all)")
        }
    }

    static func arrive(at servers: ServerFixture) async throws {
        try await servers.owner.withConnection { (connection) throws(PostgresError) in
            for rows in rows { _ = try connection.run(Statement(rows), [.integer(Int64(size))]) }
        }
    }

    /// Returns the index entries and table rows read so far, by table.
    ///
    /// The worker's own reads are reported immediately, and so are those of the owner's statements that prepare a test:
    /// they would otherwise be counted with later reads.
    static func rowsRead(_ servers: ServerFixture, by worker: PostgresPool) async throws -> [String: Int] {
        for pool in [servers.owner, worker] {
            try await pool.withConnection { (connection) throws(PostgresError) in
                _ = try connection.run("SELECT pg_stat_force_next_flush() IS NULL")
                // A session reports its statistics at the end of a transaction.
                _ = try connection.run("SELECT 1 AS pg_stat")
            }
        }
        let rows = try await servers.owner.run(
            """
            SELECT t.relname::text, (t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0))::bigint
            FROM pg_stat_user_tables t LEFT JOIN pg_stat_user_indexes i ON i.relid = t.relid
            WHERE t.schemaname = $1 AND NOT t.relname = ANY ($2::text[])
            GROUP BY t.relid, t.relname, t.seq_tup_read
            """,
            [.text("\(servers.namespace)"), .textArray(["schema_migrations"])]
        )
        var read: [String: Int] = [:]
        for row in rows.indices { read[try rows.text(row, 0)] = Int(clamping: try rows.integer(row, 1)) }
        return read
    }

    /// Returns the number of searches of an index so far.
    static func scans(of index: String, in servers: ServerFixture, by worker: PostgresPool) async throws -> Int {
        _ = try await rowsRead(servers, by: worker)
        return try await servers.count(
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = $1 AND indexrelname = $2",
            [.text("\(servers.namespace)"), .text(index)]
        )
    }

    /// Statements that insert `$1` rows each, most of them for separate users.
    private static let rows = [
        """
        INSERT INTO people (app, user_id) SELECT 'drop', 'crowd-' || n FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO inbox (person, id, event_id, content_hash, type, title, body, urgency)
        SELECT number, number, 'e' || number, '', 'system', 't', 'b', 2 FROM people WHERE user_id LIKE 'crowd-%'
        LIMIT $1
        """,
        """
        INSERT INTO ledger (person, id, target, state, due_at, sent_at)
        SELECT number, number, 7, CASE number % 2 WHEN 0 THEN 'a' ELSE 'w' END::"char", now() + interval '1 h',
               CASE number % 2 WHEN 0 THEN now() END
        FROM people WHERE user_id LIKE 'crowd-%' LIMIT $1
        """,
        """
        INSERT INTO ledger (person, id, target, state, outlet, queued_at)
        SELECT number, number + 1, 7, 'w', 'drop/crowd', now() FROM people WHERE user_id LIKE 'crowd-%' LIMIT $1
        """,
        """
        INSERT INTO recipients (app, user_id, source_time)
        SELECT 'drop', 'crowd-' || n, now() FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO notification_preferences (app, profile_id, preferences, source_time)
        SELECT 'drop', 'crowd-' || n, '{}', now() FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO push_subscriptions
            (app, profile_id, id, platform, provider, device_token, registered_at, last_seen_at, source_time, revoked_at,
             revoke_reason)
        SELECT 'drop', 'crowd-' || n, 'sub_0000000000000007', 'ios', 'fcm', 'crowd-' || n, now(), now(), now(),
               CASE n % 2 WHEN 0 THEN now() - interval '1 h' END, CASE n % 2 WHEN 0 THEN 'UNREGISTERED' END
        FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO follows (app, topic, user_id, since, source_time)
        SELECT 'drop', 'venue:1', 'crowd-' || n, now(), now() FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO reminders (app, user_id, id, local_time, title, body, source_time, next_fire_at)
        SELECT 'drop', 'crowd-' || n, 'r', '09:00', 't', 'b', now(), now() + interval '1 h' FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO badge_updates (app, user_id, requested_at)
        SELECT 'drop', 'crowd-' || n, now() + interval '1 h' FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO events (app, id, content_hash, content, planned_at)
        SELECT 'drop', 'crowd-' || n, '', '{"to": {"topic": "venue:1"}}', now() + interval '1 h'
        FROM generate_series(1, $1) n
        """,
        """
        WITH opened AS (
            INSERT INTO fanouts (app, event_id, type, topic, urgency)
            SELECT 'drop', 'crowd-' || n, 'system', 'venue:1', 2 FROM generate_series(1, $1) n
            RETURNING number
        )
        INSERT INTO fanout_pages (fanout, page, after, upto, handed_over_at) SELECT number, 0, '', 'v', now() FROM opened
        """,
        """
        INSERT INTO tombstones (app, subject_hash, deleted_at)
        SELECT 'drop', decode(md5(n::text), 'hex'), now() FROM generate_series(1, $1) n
        """,
        """
        INSERT INTO dead_letters
            (dead_id, fingerprint, state, stage, reason, error, app, user_id, attempts, first_failed_at, last_failed_at,
             origin_exchange, origin_routing_key, properties, headers, body, content_hash)
        SELECT 'crowd-' || n, 'f', CASE n % 2 WHEN 0 THEN 'resolved' ELSE 'discarded' END, 'intake', 'malformed-json', '',
               'drop', 'crowd-' || n, 2, now(), now(), '', '', '{}', '{}', '', decode(md5(n::text), 'hex')
        FROM generate_series(1, $1) n
        """,
        """
        WITH replay AS (
            INSERT INTO replays (state, filter, operator, because, items, pause_share, started_at, finished_at)
            VALUES ('done', '{}', 'ada', 'a test', 1, 20, now() - interval '2 d', now() - interval '2 d') RETURNING id
        )
        INSERT INTO replay_items (replay_id, position, dead_id, state, outcome, settled_at)
        SELECT replay.id, n, 'crowd-' || n, 'settled', 'delivered', now() FROM replay, generate_series(1, $1) n
        """,
    ]
}
