import BellhopRules
package import Postgres
package import ServiceRuntime

/// The table `events`.
extension WorkerStore {
    /// Stores each event once, without users who were erased after its timestamp.
    ///
    /// The results are in the order of `plans`.
    package func keep(_ plans: [PlannedEvent]) async throws(PostgresError) -> [PlanOutcome] {
        let questions = plans.indices.flatMap { plans[$0].questions($0) }
        guard !questions.isEmpty else { return try await insert(plans) }
        let rows = try await pool.run(ErasedUsers.lookUp, ErasedUsers.parameters(questions))
        let erased = try ErasedUsers.read(rows, questions)
        let spared = plans.indices.map { index in
            erased[index].map { plans[index].without($0) } ?? plans[index]
        }
        var kept = try await insert(spared.compactMap { $0 }).makeIterator()
        return spared.map { $0 == nil ? .cancelled : kept.next() ?? .cancelled }
    }

    private func insert(_ plans: [PlannedEvent]) async throws(PostgresError) -> [PlanOutcome] {
        let apps = Parameter.textArray(plans.map { $0.event.app.text })
        let ids = Parameter.textArray(plans.map { $0.event.id.text })
        let inserted = try await pool.run(
            Self.insert,
            [
                apps, ids, .bytesArray(plans.map { $0.contentHash.bytes }),
                .jsonArray(plans.map(\.content)),
                .instantArray(plans.map { $0.event.deliverAt?.microseconds }),
                .integerArray(plans.map { $0.priority.urgency }), .textArray(plans.map(\.body)),
            ]
        )
        var fresh: Set<[String]> = []
        for row in 0..<inserted.count {
            fresh.insert([try inserted.text(row, 0), try inserted.text(row, 1)])
        }
        let stored = try await pool.run(Self.lookUp, [apps, ids, .jsonArray(plans.map(\.content))])
        var outcomes = Array(repeating: PlanOutcome.cancelled, count: plans.count)
        for row in 0..<stored.count {
            guard let position = try stored.place(row, 0, in: plans.indices),
                try !stored.boolean(row, 2)
            else { continue }
            let plan = plans[position]
            let (hash, isForTheSame) = (try stored.bytes(row, 1), try stored.boolean(row, 3))
            if hash != plan.contentHash.bytes || !isForTheSame {
                outcomes[position] = .conflict
            } else {
                let isFresh = fresh.remove([plan.event.app.text, plan.event.id.text]) != nil
                outcomes[position] = isFresh ? .kept : .duplicate
            }
        }
        try await recogniseDue(plans, &outcomes)
        return outcomes
    }

    /// Treats conflicts as duplicates if a scheduler has published the stored event: such an event has no `deliverAt`
    /// and contains its expiry.
    private func recogniseDue(_ plans: [PlannedEvent], _ outcomes: inout [PlanOutcome]) async throws(PostgresError) {
        let doubtful = plans.indices.filter { outcomes[$0] == .conflict && plans[$0].isForNow }
        guard !doubtful.isEmpty else { return }
        let rows = try await pool.run(
            Self.due,
            [
                .textArray(doubtful.map { plans[$0].event.app.text }),
                .textArray(doubtful.map { plans[$0].event.id.text }), .jsonArray(doubtful.map { plans[$0].content }),
            ]
        )
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: doubtful.indices) else { continue }
            outcomes[doubtful[place]] = .duplicate
        }
    }

    /// Cancels events, including events that have not arrived yet.
    ///
    /// Expanded events are not affected.
    package func cancel(_ cancellations: [EventCancellation]) async throws(PostgresError) -> [Void] {
        _ = try await pool.run(
            Self.cancel,
            [.textArray(cancellations.map { $0.app.text }), .textArray(cancellations.map { $0.event.text })]
        )
        return cancellations.map { _ in }
    }

    /// Takes due events, the urgent ones first, then the oldest.
    ///
    /// This includes events for a topic or for everyone that a worker has taken and not expanded.
    ///
    /// An event for a topic or for everyone is closed and not published if it has expired or has been due for longer
    /// than `age`.
    ///
    /// The caller publishes the events, and then marks them or gives them back. If the caller dies before that, they
    /// are available again after half a minute. If more events are due than `limit`, any that became due within `span`
    /// may remain.
    ///
    /// An event planned after `latest` is not due, whatever the database clock shows.
    package func takeDueEvents(
        atMost limit: Int,
        within span: Duration = DuePoll.whole,
        closingAfter age: Duration = .seconds(86_400),
        notBeyond latest: Instant = SystemTime().now() + .seconds(60)
    ) async throws(PostgresError) -> DuePollResult<DueEvent> {
        let rows = try await pool.run(
            Self.takeDue,
            [
                .integer(Int64(limit)), .integer(span.milliseconds), .integer(age.milliseconds),
                .instant(latest.microseconds),
            ]
        )
        let due = try rows.compactMap { (rows, row) throws(PostgresError) -> DueEvent? in
            guard let app = AppID(validating: try rows.text(row, 0)),
                let id = EventID(validating: try rows.text(row, 1)),
                let type = EventType(validating: try rows.text(row, 2))
            else { return nil }
            let closing = try rows.optionalText(row, 4).flatMap(DueEvent.Closing.init(rawValue:))
            let body = Self.compact(Array(try rows.text(row, 3).utf8))
            return DueEvent(app: app, id: id, type: type, body: body, closing: closing)
        }
        return DuePollResult(due, left: rows.count < limit ? nil : span)
    }

    /// After an erasure, the database has written the body with a space after each comma and colon.
    ///
    /// Without them, the body is not larger than an event may be.
    private static func compact(_ body: [UInt8]) -> [UInt8] {
        guard body.count > JSONParser.Limits.event.bytes,
            case .success(let json) = JSONParser(limits: .catalog).parse(body)
        else { return body }
        return JSONWriter.canonicalBytes(of: json)
    }

    /// Makes events available again immediately, since their publication is unconfirmed.
    package func giveBack(_ events: some Collection<DueEvent>) async throws(PostgresError) {
        guard !events.isEmpty else { return }
        _ = try await pool.run(Self.giveBack, [.textArray(events.map(\.app.text)), .textArray(events.map(\.id.text))])
    }

    /// Marks events as done.
    package func markExpanded(_ events: some Collection<DueEvent>) async throws(PostgresError) {
        guard !events.isEmpty else { return }
        _ = try await pool.run(Self.mark, [.textArray(events.map(\.app.text)), .textArray(events.map(\.id.text))])
    }

    private static let now = "least(now(), $4::timestamptz)"

    /// Selects the due events of one urgency, in the order and with the condition of their index.
    ///
    /// A single scan over all urgencies would read urgent events far in the future before due events of lower urgency.
    ///
    /// An event with a release time in the future was released by a wrong clock and counts as not taken.
    private static func oldest(_ urgency: Int) -> String {
        """
        (SELECT app, id, urgency, planned_at, content FROM events
         WHERE urgency = \(urgency) AND planned_at <= \(now) AND \(DuePoll.reaches("planned_at", "$2"))
           AND expanded_at IS NULL AND cancelled_at IS NULL
           AND coalesce(handed_over_at NOT BETWEEN now() - interval '30 s' AND now() + interval '30 s', true)
         ORDER BY planned_at LIMIT $1
         FOR UPDATE SKIP LOCKED)
        """
    }

    private static let takeDue = Statement(
        """
        WITH urgent AS (\(oldest(0))), usual AS (\(oldest(1))), idle AS (\(oldest(2))), due AS MATERIALIZED (
            SELECT app, id, CASE
                WHEN content -> 'to' ? 'users' THEN NULL
                WHEN (content ->> 'expiresAt')::timestamptz <= \(now) THEN '\(DueEvent.Closing.expired.rawValue)'
                WHEN planned_at <= \(now) - $3::bigint * interval '1 ms' THEN '\(DueEvent.Closing.tooOld.rawValue)'
            END AS closing
            FROM (
                SELECT * FROM urgent UNION ALL SELECT * FROM usual UNION ALL SELECT * FROM idle
            ) AS oldest
            ORDER BY urgency, planned_at LIMIT $1
        )
        UPDATE events e SET
            handed_over_at = CASE WHEN due.closing IS NULL THEN now() ELSE e.handed_over_at END,
            closed_reason = due.closing, cancelled_at = CASE WHEN due.closing IS NOT NULL THEN now() END
        FROM due
        WHERE e.app = ANY (ARRAY[due.app]) AND e.id = due.id
        RETURNING e.app, e.id, e.content ->> 'eventType', coalesce(e.body, (e.content - 'deliverAt')::text),
                  e.closed_reason
        """
    )

    private static let giveBack = Statement(
        """
        UPDATE events e SET handed_over_at = NULL
        FROM unnest($1::text[], $2::text[]) AS r (app, id)
        WHERE e.app = ANY (ARRAY[r.app]) AND e.id = r.id AND e.expanded_at IS NULL
        """
    )

    private static let mark = Statement(
        """
        UPDATE events e SET expanded_at = now()
        FROM unnest($1::text[], $2::text[]) AS r (app, id)
        WHERE e.app = ANY (ARRAY[r.app]) AND e.id = r.id AND e.expanded_at IS NULL
        """
    )

    /// An event that is due now is about to be expanded by the worker that stores it, so that a scheduler takes it only
    /// later.
    private static let insert = Statement(
        """
        INSERT INTO events (app, id, content_hash, content, planned_at, urgency, body)
        SELECT DISTINCT ON (app, id) app, id, content_hash, content,
               CASE WHEN planned_at IS NULL THEN now() + interval '30 s' ELSE greatest(planned_at, now()) END, urgency, body
        FROM unnest($1::text[], $2::text[], $3::bytea[], $4::jsonb[], $5::timestamptz[], $6::bigint[], $7::text[])
             WITH ORDINALITY AS r (app, id, content_hash, content, planned_at, urgency, body, position)
        ORDER BY app, id, position
        ON CONFLICT (app, id) DO NOTHING
        RETURNING app, id
        """
    )

    /// Named users may have been erased from a stored event; any other audience never changes.
    private static let lookUp = Statement(
        """
        SELECT r.position, coalesce(e.content_hash, ''::bytea), e.cancelled_at IS NOT NULL,
               coalesce((e.content -> 'to' ? 'users' AND r.content -> 'to' ? 'users')
                        OR e.content -> 'to' = r.content -> 'to', false)
        FROM unnest($1::text[], $2::text[], $3::jsonb[]) WITH ORDINALITY AS r (app, id, content, position)
        JOIN events e ON e.app = ANY (ARRAY[r.app]) AND e.id = r.id
        """
    )

    /// Compares events without the fields that a scheduler changes or the catalogue adds.
    private static let due = Statement(
        """
        SELECT r.position
        FROM unnest($1::text[], $2::text[], $3::jsonb[]) WITH ORDINALITY AS r (app, id, content, position)
        JOIN events e ON e.app = ANY (ARRAY[r.app]) AND e.id = r.id
        WHERE (e.planned_at <= now() OR NOT e.content ? 'deliverAt')
          AND e.content - '{deliverAt,expiresAt,collapseKey,venueId}'::text[]
              = r.content - '{deliverAt,expiresAt,collapseKey,venueId}'::text[]
        """,
        effect: .reads
    )

    private static let cancel = Statement(
        """
        INSERT INTO events (app, id, cancelled_at)
        SELECT DISTINCT app, id, now() FROM unnest($1::text[], $2::text[]) AS r (app, id)
        ORDER BY app, id
        ON CONFLICT (app, id) DO UPDATE SET cancelled_at = excluded.cancelled_at
        WHERE events.expanded_at IS NULL AND events.cancelled_at IS NULL
        """
    )
}
