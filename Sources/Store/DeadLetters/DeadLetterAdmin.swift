import BellhopRules
package import Postgres

/// The operators' queries on the table `dead_letters`; extensions contain the actions.
package struct DeadLetterAdmin: Sendable {
    let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of an admin.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns the number of matching items.
    package func count(_ filter: DeadLetterFilter) async throws(PostgresError) -> DeadLetterCount {
        let chosen = filter.selection(of: "d.user_id")
        let rows = try await pool.run(
            Statement(
                "SELECT count(*), count(DISTINCT user_id), now() FROM (\(chosen.sql)) AS chosen",
                effect: .reads
            ),
            chosen.parameters
        )
        return DeadLetterCount(
            items: try rows.number(0, 0),
            users: try rows.number(0, 1),
            asOf: try rows.moment(0, 2)
        )
    }

    /// Returns the matching items in groups with the same fingerprint.
    ///
    /// Groups with the most users come first, because these users wait for something.
    package func groups(_ filter: DeadLetterFilter) async throws(PostgresError) -> DeadLetterGroups {
        let chosen = filter.selection(
            of: "d.dead_id, d.fingerprint, d.user_id, d.first_failed_at, d.last_failed_at"
        )
        let rows = try await pool.run(
            Statement(Self.groups(of: chosen.sql), effect: .reads),
            chosen.parameters
        )
        var groups = try rows.map(DeadLetterGroup.init)
        let days = try await pool.run(Statement(Self.lastDay(of: chosen.sql), effect: .reads), chosen.parameters)
        let places = Dictionary(groups.indices.map { (groups[$0].fingerprint, $0) }, uniquingKeysWith: { $1 })
        for row in days.indices {
            guard let place = places[try days.text(row, 0)] else { continue }
            let hour = try 23 - days.number(row, 1)
            guard groups[place].lastDay.indices.contains(hour) else { continue }
            groups[place].lastDay[hour] = try days.number(row, 2)
        }
        let compositions = try await compositions(filter)
        for place in groups.indices { groups[place].composition = compositions[groups[place].fingerprint] ?? .empty }
        let total = try await count(filter)
        return DeadLetterGroups(
            asOf: total.asOf,
            groups: groups,
            count: rows.isEmpty ? 0 : try rows.number(0, "groups"),
            items: total.items
        )
    }

    /// Returns the first `page` items of a list.
    ///
    /// By default, the latest failures come first.
    ///
    /// The result contains the total count, so that a page is not mistaken for the complete list.
    package func page(
        _ filter: DeadLetterFilter,
        atMost page: Int,
        in order: DeadLetterOrder = .newest
    ) async throws(PostgresError) -> DeadLetterPage {
        let chosen = filter.selection(of: DeadLetterSummary.columns, atMost: page, in: order)
        let rows = try await pool.run(Statement(chosen.sql, effect: .reads), chosen.parameters)
        var all = filter
        all.limit = nil
        let total = try await count(all)
        return DeadLetterPage(asOf: total.asOf, items: try rows.map(DeadLetterSummary.init), count: total.items)
    }

    /// Returns the items after `deadID` in the order of their ids, with their messages, to iterate over all items.
    ///
    /// It returns at most `page` items, and at most `DeadLetterStore.pageBytes` of bodies unless the first one alone is
    /// larger.
    package func messages(
        _ filter: DeadLetterFilter,
        after deadID: String,
        atMost page: Int
    ) async throws(PostgresError) -> [DeadLetterMessage] {
        var piece = filter.limit == nil ? filter.condition : filter.selection(of: "d.dead_id")
        if filter.limit != nil { piece.sql = "d.dead_id IN (\(piece.sql))" }
        let sql = """
            WITH next AS (
                SELECT d.dead_id, octet_length(d.body) AS bytes FROM dead_letters d
                WHERE \(piece.sql) AND d.dead_id > \(piece.bind(.text(deadID)))
                ORDER BY d.dead_id LIMIT \(piece.bind(.integer(Int64(page))))
            ), page AS (
                SELECT dead_id, sum(bytes) OVER upto AS bytes, row_number() OVER upto AS place
                FROM next WINDOW upto AS (ORDER BY dead_id)
            )
            SELECT \(DeadLetterSummary.columns), \(DeadLetterItem.Origin.columns), d.content_hash
            FROM page p JOIN dead_letters d ON d.dead_id = p.dead_id
            WHERE p.place = 1 OR p.bytes <= \(piece.bind(.integer(Int64(DeadLetterStore.pageBytes))))
            ORDER BY d.dead_id
            """
        return try await pool.run(Statement(sql, effect: .reads), piece.parameters).map(DeadLetterMessage.init)
    }

    /// Returns all data of one item; `nil` if the id is unknown.
    package func detail(_ deadID: String) async throws(PostgresError) -> DeadLetterDetail? {
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            let item = try connection.run(Self.item, [.text(deadID)])
            guard !item.isEmpty else { return nil }
            let copies = try connection.run(Self.copy, [.text(deadID)])
            return DeadLetterDetail(
                summary: try DeadLetterSummary(item, 0),
                origin: try DeadLetterItem.Origin(item, 0),
                history: try connection.run(Self.history, [.text(deadID)]).map(DeadLetterDetail.Entry.init),
                editedInto: copies.isEmpty ? nil : try copies.text(0, 0),
                isFiled: true
            )
        }
    }

    /// Returns the fingerprints with this prefix, at most `limit`.
    package func fingerprints(beginningWith text: String, atMost limit: Int) async throws(PostgresError) -> [String] {
        try await pool.run(Self.fingerprintsBeginning, [.text(text), .integer(Int64(limit))]).texts()
    }

    /// Returns whether any item has this value as its reason, stage or provider.
    package func has(
        _ member: DeadLetterCause.Member,
        _ word: String
    ) async throws(PostgresError) -> Bool {
        let sql = "SELECT EXISTS (SELECT FROM dead_letters WHERE \(member.column) = $1)"
        return try await pool.run(Statement(sql, effect: .reads), [.text(word)]).boolean(0, 0)
    }

    /// Returns the ids with this prefix, at most `limit`.
    package func ids(beginningWith text: String, atMost limit: Int) async throws(PostgresError) -> [String] {
        let rows = try await pool.run(Self.idsBeginning, [.text(text), .integer(Int64(limit))])
        return try rows.texts()
    }
}

extension DeadLetterAdmin {
    /// Groups the chosen items, each group with the cause of its latest item.
    private static func groups(of chosen: String) -> String {
        """
        WITH chosen AS MATERIALIZED (\(chosen)), grouped AS (
            SELECT fingerprint, count(*) AS items, count(DISTINCT user_id) AS users,
                   min(first_failed_at) AS first_seen, max(last_failed_at) AS last_seen,
                   count(*) OVER () AS groups
            FROM chosen GROUP BY fingerprint
            ORDER BY count(DISTINCT user_id) DESC, count(*) DESC, fingerprint LIMIT \(DeadLetterGroups.most)
        ), latest AS (
            SELECT DISTINCT ON (c.fingerprint) c.fingerprint, c.dead_id
            FROM chosen c JOIN grouped g ON g.fingerprint = c.fingerprint AND g.last_seen = c.last_failed_at
            ORDER BY c.fingerprint, c.dead_id DESC
        )
        SELECT g.*, \(DeadLetterCause.columns("d."))
        FROM grouped g JOIN latest l ON l.fingerprint = g.fingerprint JOIN dead_letters d ON d.dead_id = l.dead_id
        ORDER BY g.users DESC, g.items DESC, g.fingerprint
        """
    }

    private static func lastDay(of chosen: String) -> String {
        """
        SELECT fingerprint, floor(extract(epoch FROM now() - last_failed_at) / 3600)::bigint AS hours, count(*)
        FROM (\(chosen)) AS chosen
        WHERE last_failed_at > now() - interval '24 hours' AND last_failed_at <= now()
        GROUP BY fingerprint, hours
        """
    }

    private static let item = Statement(
        """
        SELECT \(DeadLetterSummary.columns), \(DeadLetterItem.Origin.columns) FROM dead_letters d WHERE d.dead_id = $1
        """,
        effect: .reads
    )

    private static let copy = Statement(
        "SELECT dead_id FROM dead_letters WHERE edited_from = $1 ORDER BY filed_at DESC LIMIT 1",
        effect: .reads
    )

    /// The actions on an item and the results of its replays.
    private static let history = Statement(
        """
        SELECT at, kind, operator, words FROM dead_letter_history WHERE dead_id = $1
        UNION ALL
        SELECT i.settled_at, 'replayed', r.operator,
               format('replay %s: %s', r.id, i.outcome) || coalesce(', ' || i.detail, '')
        FROM replay_items i JOIN replays r ON r.id = i.replay_id
        WHERE i.dead_id = $1 AND i.state = 'settled' AND i.outcome <> 'cancelled'
        UNION ALL
        SELECT i.settled_at, 'not sent', NULL, format('its replay %s was cancelled', i.replay_id)
        FROM replay_items i WHERE i.dead_id = $1 AND i.state = 'settled' AND i.outcome = 'cancelled'
        ORDER BY at
        """,
        effect: .reads
    )

    private static let fingerprintsBeginning = Statement(
        """
        SELECT DISTINCT fingerprint FROM dead_letters WHERE starts_with(fingerprint, $1) ORDER BY fingerprint LIMIT $2
        """,
        effect: .reads
    )

    private static let idsBeginning = Statement(
        "SELECT dead_id FROM dead_letters WHERE starts_with(dead_id, $1) AND dead_id >= $1 ORDER BY dead_id LIMIT $2",
        effect: .reads
    )
}

extension DeadLetterAdmin {
    /// Imports items from an export and returns the number of new ones; existing items are not changed.
    ///
    /// Items that were part of a replay at the time of the export are open now.
    package func bringIn(_ letters: [DeadLetterMessage], by operator: ActingOperator) async throws(PostgresError) -> Int
    {
        guard !letters.isEmpty else { return 0 }
        return try await pool.transaction { (connection) throws(PostgresError) in
            // An export may contain users who have been erased since.
            let spared = try ErasedUserDeadLetters.spare(letters.map(\.item), connection)
            let rows = try connection.run(DeadLetterStore.insert, DeadLetterStore.parameters(of: spared))
            let fresh = Set(try rows.texts())
            let added = letters.map(\.summary).filter { fresh.contains($0.deadID) }
            _ = try connection.run(
                Self.complete,
                [
                    .textArray(added.map(\.deadID)),
                    .textArray(added.map { $0.state == .replaying ? "open" : $0.state.rawValue }),
                    .integerArray(added.map { Int64($0.deaths) }), .integerArray(added.map { Int64($0.replays) }),
                    .instantArray(added.map(\.firstFailedAt.microseconds)), .textArray(added.map(\.resolution)),
                    .text(`operator`.name), .text(`operator`.because),
                ]
            )
            return added.count
        }
    }

    private static let complete = Statement(
        """
        WITH letter AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[])
                AS l (dead_id, state, deaths, replays, first_failed_at, resolution)
        ), remembered AS (
            INSERT INTO dead_letter_history (dead_id, kind, operator, words)
            SELECT dead_id, 'imported', $7::text, $8::text FROM letter
        )
        UPDATE dead_letters d
        SET state = l.state, deaths = l.deaths, replays = l.replays, first_failed_at = l.first_failed_at,
            resolution = l.resolution, exported_at = now()
        FROM letter l WHERE d.dead_id = l.dead_id
        """
    )
}
