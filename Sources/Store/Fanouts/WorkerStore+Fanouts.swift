import BellhopRules
package import Postgres

/// The tables `fanouts` and `fanout_pages`, as used by workers and schedulers.
///
/// A fan-out is stored when its snapshot is taken. Its audience is divided into pages during the fan-out: a few pages
/// are planned and unfinished at a time, each with a row and a message.
extension WorkerStore {
    /// Takes a page for a worker and plans the next pages.
    ///
    /// A page that another batch has taken is available only if the message was `redelivered` or after five minutes. A
    /// page with more than ``mostTakes`` takes probably crashes its workers, so its fan-out is paused.
    package func take(
        _ page: FanoutPage,
        as claim: Claim,
        redelivered: Bool
    ) async throws(PostgresError) -> PageClaimResult {
        let place: [Parameter] = [.integer(page.fanout), .integer(page.page)]
        let usersPerPage = usersPerPage
        return try await pool.transaction { (connection) throws(PostgresError) -> PageClaimResult in
            guard let fanout = try LockedFanout.hold(page.fanout, on: connection) else { return .over }
            guard fanout.isRunning else {
                _ = try connection.run(fanout.isPaused ? Self.park : Self.endPage, place)
                return .over
            }
            let taken = try connection.run(
                Self.take,
                place + [.integer(claim.number), .boolean(redelivered)]
            )
            guard !taken.isEmpty else { return .over }
            guard try taken.number(0, 2) <= Self.mostTakes else {
                try Self.pause(page, because: "page-fails", on: connection)
                return .over
            }
            let event = try connection.run(Self.event, [.integer(page.fanout)])
            guard !event.isEmpty, let app = AppID(validating: fanout.app) else { return .over }
            var further = try fanout.topUp(on: connection, usersPerPage)
            if try taken.boolean(0, 3) { further += try Self.untaken(of: page.fanout, on: connection) }
            let range = ClaimedPage.Range(
                app: app,
                topic: fanout.topic,
                snapshot: fanout.startedAt,
                after: try taken.text(0, 0),
                upto: try taken.text(0, 1)
            )
            return .open(
                ClaimedPage(
                    app: app,
                    content: Array(try event.text(0, 0).utf8),
                    contentHash: ContentHash(stored: try event.bytes(0, 1)),
                    further: Array(Set(further)),
                    age: fanout.age,
                    range: range
                )
            )
        }
    }

    /// The maximum number of takes of a page, as many as the broker's redeliveries.
    private static let mostTakes = 20

    /// Returns a fan-out's untaken pages, since their messages may have been lost with a worker.
    package func untaken(of fanout: Int64) async throws(PostgresError) -> [FanoutPage] {
        try await pool.withConnection { (connection) throws(PostgresError) in
            try Self.untaken(of: fanout, on: connection)
        }
    }

    private static func untaken(
        of fanout: Int64,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [FanoutPage] {
        let rows = try connection.run(Self.untaken, [.integer(fanout)])
        return try rows.map { (rows, row) throws(PostgresError) in try FanoutPage(rows, row) }
    }

    /// Ends a page and plans the next one; returns the pages to publish.
    ///
    /// If the page had ended before, the untaken pages are returned, since the earlier answer may have been lost. When
    /// its last page ends, the fan-out is finished.
    package func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(PostgresError) -> [FanoutPage] {
        let (number, usersPerPage) = (Parameter.integer(page.fanout), usersPerPage)
        return try await pool.transaction { (connection) throws(PostgresError) in
            guard let fanout = try LockedFanout.hold(page.fanout, on: connection),
                try connection.run(Self.endPage, [number, .integer(page.page)]).affectedCount > 0
            else { return try Self.untaken(of: page.fanout, on: connection) }
            let counts = [tally.users, tally.recorded, tally.sent].map { Parameter.integer(Int64($0)) }
            let next = try fanout.topUp(on: connection, usersPerPage)
            _ = try connection.run(Self.count, [number] + counts)
            return next
        }
    }

    /// Returns a page that the worker cannot process at present.
    package func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(PostgresError) {
        let parameters = [page.fanout, page.page, claim.number].map { Parameter.integer($0) }
        _ = try await pool.run(Self.putBack, parameters)
    }

    /// Pauses a fan-out that cannot continue, until an operator resumes it.
    package func pause(_ page: FanoutPage, because trouble: String) async throws(PostgresError) {
        try await pool.transaction { (connection) throws(PostgresError) in
            guard let fanout = try LockedFanout.hold(page.fanout, on: connection) else { return }
            if fanout.isRunning { try Self.pause(page, because: trouble, on: connection) }
            // If another page or an operator has paused the fan-out first, this page waits for the same resume.
            if fanout.isPaused { try Self.park(page, on: connection) }
        }
    }

    private static func pause(
        _ page: FanoutPage,
        because trouble: String,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        _ = try connection.run(Self.pause, [.integer(page.fanout), .text(trouble)])
        try park(page, on: connection)
    }

    private static func park(_ page: FanoutPage, on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(Self.park, [.integer(page.fanout), .integer(page.page)])
    }

    /// Takes pages of running fan-outs that have no message, or whose message has been lost, so that they can be
    /// published.
    package func takeForgottenPages(
        atMost limit: Int,
        lostAfter grace: Duration
    ) async throws(PostgresError) -> [FanoutPage] {
        let rows = try await pool.run(
            Self.forgotten,
            [.integer(Int64(limit)), .integer(grace.milliseconds)]
        )
        return try rows.map { (rows, row) throws(PostgresError) in try FanoutPage(rows, row) }
    }

    /// Makes pages available again immediately, since possibly no message exists for them.
    package func giveBack(_ pages: [FanoutPage]) async throws(PostgresError) {
        guard !pages.isEmpty else { return }
        _ = try await pool.run(
            Self.giveBack,
            [.integerArray(pages.map(\.fanout)), .integerArray(pages.map(\.page))]
        )
    }

    private static let untaken = Statement(
        """
        SELECT p.fanout, p.page, f.urgency::bigint
        FROM fanouts f JOIN fanout_pages p ON p.fanout = f.number AND p.taken_at IS NULL
        WHERE f.number = $1 AND f.state = 'running'
        """,
        effect: .reads
    )

    private static let event = Statement(
        """
        SELECT coalesce(e.body, e.content::text), e.content_hash
        FROM fanouts f JOIN events e ON e.app = f.app AND e.id = f.event_id
        WHERE f.number = $1 AND e.content IS NOT NULL
        """,
        effect: .reads
    )

    /// Takes a page that is not taken, or that its worker has lost.
    ///
    /// A page counts as lost if the broker redelivers its message, or after five minutes. A repeat with the same claim
    /// takes the page again.
    private static let take = Statement(
        """
        UPDATE fanout_pages p
        SET taken_at = now(), handed_over_at = now(), claim = $3,
            copies = CASE WHEN was.taken_at IS NULL THEN 0 ELSE p.copies END,
            takes = least(p.takes + ($4::boolean AND p.claim IS DISTINCT FROM $3::bigint)::integer, 1000)
        FROM (SELECT taken_at, claim FROM fanout_pages WHERE fanout = $1 AND page = $2 FOR UPDATE) AS was
        WHERE p.fanout = $1 AND p.page = $2
          AND (was.taken_at IS NULL OR was.claim = $3 OR $4::boolean OR was.taken_at < now() - interval '5 min')
        RETURNING p.after, p.upto, p.takes::bigint, was.taken_at IS NOT NULL
        """
    )

    /// Parks a page of a paused fan-out: its message ends, and a resume frees the page.
    private static let park = Statement(
        "UPDATE fanout_pages SET taken_at = NULL, handed_over_at = 'infinity' WHERE fanout = $1 AND page = $2"
    )

    /// Returns the page while its message waits.
    ///
    /// The page did not crash its worker, so its takes are counted from zero. It stays taken if another batch has taken
    /// it meanwhile.
    private static let putBack = Statement(
        """
        UPDATE fanout_pages SET taken_at = NULL, handed_over_at = now(), takes = 0
        WHERE fanout = $1 AND page = $2 AND claim = $3 AND taken_at IS NOT NULL
        """
    )

    private static let endPage = Statement("DELETE FROM fanout_pages WHERE fanout = $1 AND page = $2")

    /// Adds a page's tally.
    ///
    /// With the last page the fan-out is finished. After an interruption, such as a failure of the broker, the rate is
    /// measured from the present.
    private static let count = Statement(
        """
        UPDATE fanouts f
        SET pages = pages + 1, users = users + $2::bigint, recorded = recorded + $3::bigint, sent = sent + $4::bigint,
            worked_at = now(),
            resumed_at = CASE WHEN end_of.was_interrupted THEN now() ELSE resumed_at END,
            resumed_users = CASE WHEN end_of.was_interrupted THEN users + $2::bigint ELSE resumed_users END,
            state = CASE WHEN end_of.is_last THEN 'finished' ELSE state END,
            trouble = CASE WHEN end_of.is_last THEN NULL ELSE trouble END,
            paused_at = CASE WHEN end_of.is_last THEN NULL ELSE paused_at END,
            finished_at = CASE WHEN end_of.is_last THEN now() ELSE finished_at END,
            planned_to = CASE WHEN end_of.is_last THEN '' ELSE planned_to END
        FROM (
            SELECT f.number AS of, f.is_planned AND f.state <> 'cancelled'
                   AND NOT EXISTS (SELECT FROM fanout_pages p WHERE p.fanout = f.number) AS is_last,
                   f.state = 'running' AND greatest(f.worked_at, f.resumed_at) < now() - interval '60 s'
                       AS was_interrupted
            FROM fanouts f WHERE f.number = $1
        ) AS end_of
        WHERE f.number = end_of.of
        """
    )

    private static let pause = Statement(
        "UPDATE fanouts SET state = 'paused', trouble = $2, paused_at = now() WHERE number = $1 AND state = 'running'"
    )

    /// Takes pages of running fan-outs that have no message, or whose message has not been taken for `$2` milliseconds.
    ///
    /// The interval doubles each time. The pages are read in the order of their index.
    private static let forgotten = Statement(
        """
        UPDATE fanout_pages p
        SET handed_over_at = now(), copies = CASE WHEN lost.copied THEN least(p.copies + 1, 10) ELSE p.copies END
        FROM (
            SELECT p.fanout, p.page, f.urgency, p.handed_over_at IS NOT NULL AS copied
            FROM fanout_pages p
            CROSS JOIN LATERAL (SELECT urgency, state FROM fanouts WHERE number = p.fanout OFFSET 0) AS f
            WHERE coalesce(p.handed_over_at, '-infinity') < now() - $2::bigint * interval '1 ms'
              AND coalesce(p.handed_over_at < now() - $2::bigint * interval '1 ms' * (1 << p.copies), true)
              AND f.state = 'running'
            ORDER BY coalesce(p.handed_over_at, '-infinity')
            LIMIT $1
            FOR UPDATE OF p SKIP LOCKED
        ) AS lost
        WHERE p.fanout = ANY (ARRAY[lost.fanout]) AND p.page = lost.page
        RETURNING p.fanout, p.page, lost.urgency::bigint
        """
    )

    private static let giveBack = Statement(
        """
        UPDATE fanout_pages p SET handed_over_at = NULL
        FROM unnest($1::bigint[], $2::bigint[]) AS w (fanout, page)
        WHERE p.fanout = ANY (ARRAY[w.fanout]) AND p.page = w.page AND p.taken_at IS NULL
        """
    )
}
