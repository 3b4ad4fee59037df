package import BellhopRules
package import Postgres
package import ServiceRuntime

/// An event that is kept until it is expanded: because it is for a wider audience than named users, or for later.
package struct PlannedEvent: Sendable {
    package let event: Event
    package let contentHash: ContentHash
    let priority: Priority
    /// With the expiry that its type gives it.
    private(set) var content: [UInt8]
    /// The same without `deliverAt`: what is published when its time has come, and what its fan-out is made of.
    private(set) var body: String

    package init(event: Event, contentHash: ContentHash, priority: Priority, expiresAt: Timestamp?) {
        self.event = event
        self.contentHash = contentHash
        self.priority = priority
        content = event.plainForm(expiresAt: expiresAt)
        let published =
            event.deliverAt == nil ? content : event.plainForm(expiresAt: expiresAt, withoutDeliverAt: true)
        body = String(decoding: published, as: UTF8.self)
    }

    /// Bytes of what is kept, which has in it what stood outside of the body that came.
    package var byteCount: Int { content.count }

    /// Whether it is expanded at once: it is for a wider audience, and not for later.
    package var isForNow: Bool {
        if case .users = event.audience { false } else { event.deliverAt == nil }
    }

    /// The same for those who are left; nil for nobody.
    fileprivate func without(_ people: Set<RecipientKey>) -> PlannedEvent? {
        guard let rest = LetterAudience.body(content, without: people) else { return nil }
        var other = self
        other.content = rest
        if let rest = LetterAudience.body(Array(body.utf8), without: people) {
            other.body = String(decoding: rest, as: UTF8.self)
        }
        return other
    }

    /// Whom to ask about: those whom it names.
    fileprivate func questions(_ index: Int) -> [ErasedPeople.Question] {
        guard case .users(let users) = event.audience else { return [] }
        return users.map { user in
            let person = RecipientKey(app: event.app, user: user)
            return ErasedPeople.Question(message: index, person: person, saidAt: event.sentAt)
        }
    }
}

/// An event whose time has come.
package struct DueEvent: Sendable {
    package let app: AppID
    package let id: EventID
    package let type: EventType
    /// The event as it is published, without `deliverAt`.
    package let body: [UInt8]
    /// Why it was given up instead; nil where it is to be published.
    package let closing: Closing?

    /// Why an event for a wider audience is not worth expanding any more.
    package enum Closing: String, CaseIterable, Sendable {
        /// Its `expiresAt` has come.
        case expired
        /// It waited for too long for somebody to expand it: by now nobody expects it.
        case tooOld = "too-old"
    }
}

/// The word of a producer that an event shall not go out after all.
package struct EventCancellation: Sendable {
    package let app: AppID
    package let event: EventID

    package init(app: AppID, event: EventID) {
        self.app = app
        self.event = event
    }
}

/// The table `events`.
package struct EventBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What became of one plan.
    package enum Outcome: Sendable, Equatable {
        case kept
        case duplicate
        /// Other words were there already under this id; they stay.
        case conflict
        /// Its cancellation had come first, or all whom it names were erased.
        case cancelled
    }

    /// Keeps each event once, for those who have not been erased since it was said; the answers are in the order of
    /// `plans`.
    package func keep(_ plans: [PlannedEvent]) async throws(PostgresError) -> [Outcome] {
        let questions = plans.indices.flatMap { plans[$0].questions($0) }
        guard !questions.isEmpty else { return try await insert(plans) }
        let rows = try await pool.run(ErasedPeople.lookUp, ErasedPeople.parameters(questions))
        let erased = try ErasedPeople.read(rows, questions)
        let spared = plans.indices.map { index in
            erased[index].map { plans[index].without($0) } ?? plans[index]
        }
        var kept = try await insert(spared.compactMap { $0 }).makeIterator()
        return spared.map { $0 == nil ? .cancelled : kept.next() ?? .cancelled }
    }

    private func insert(_ plans: [PlannedEvent]) async throws(PostgresError) -> [Outcome] {
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
        var outcomes = Array(repeating: Outcome.cancelled, count: plans.count)
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

    /// What a scheduler has published has lost its `deliverAt`, and says when it expires: it is the event that was kept.
    private func recogniseDue(_ plans: [PlannedEvent], _ outcomes: inout [Outcome]) async throws(PostgresError) {
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

    /// Takes events back, also ones that have not arrived yet; what is expanded already stays.
    package func cancel(_ cancellations: [EventCancellation]) async throws(PostgresError) -> [Void] {
        _ = try await pool.run(
            Self.cancel,
            [.textArray(cancellations.map { $0.app.text }), .textArray(cancellations.map { $0.event.text })]
        )
        return cancellations.map { _ in }
    }

    /// Takes events whose time has come, the urgent first, then the oldest; and those for a wider audience, for now or for
    /// later, that whoever took them has left unexpanded.
    ///
    /// Of the latter two kinds what has expired, or has been due for longer than `age`, is closed and not to be published.
    ///
    /// Whoever takes them publishes them, and then marks them or gives them back. Those of which neither is heard, since
    /// whoever took them died, come up again after half a minute. Where more are due than it takes, any that came due within
    /// `span` may be left.
    ///
    /// Nothing is due that lies beyond `latest`, whatever the database's clock shows.
    package func takeDue(
        atMost limit: Int,
        within span: Duration = DueLook.whole,
        closingAfter age: Duration = .seconds(86_400),
        notBeyond latest: Instant = SystemTime().now() + .seconds(60)
    ) async throws(PostgresError) -> DueItems<DueEvent> {
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
        return DueItems(due, left: rows.count < limit ? nil : span)
    }

    /// What an erasure has left was written by the database, with a blank behind each comma and colon: that must not make it
    /// larger than an event may be.
    private static func compact(_ body: [UInt8]) -> [UInt8] {
        guard body.count > JSONParser.Limits.event.bytes,
            case .success(let json) = JSONParser(limits: .catalog).parse(body)
        else { return body }
        return JSONWriter.canonicalBytes(of: json)
    }

    /// Lets them come up again at once, since they have not gone out for all that is known.
    package func giveBack(_ events: some Collection<DueEvent>) async throws(PostgresError) {
        guard !events.isEmpty else { return }
        _ = try await pool.run(Self.giveBack, [.textArray(events.map(\.app.text)), .textArray(events.map(\.id.text))])
    }

    /// From now on nothing is left to be done about these events.
    package func markExpanded(_ events: some Collection<DueEvent>) async throws(PostgresError) {
        guard !events.isEmpty else { return }
        _ = try await pool.run(Self.mark, [.textArray(events.map(\.app.text)), .textArray(events.map(\.id.text))])
    }

    private static let now = "least(now(), $4::timestamptz)"

    /// Those of one urgency whose time has come, in the order and with the very condition of their index: in one scan over
    /// all urgencies, what is urgent and far ahead would lie before what is not and is due.
    ///
    /// What is handed over at an instant ahead was so by a clock that was wrong, and is in nobody's hands.
    private static func oldest(_ urgency: Int) -> String {
        """
        (SELECT app, id, urgency, planned_at, content FROM events
         WHERE urgency = \(urgency) AND planned_at <= \(now) AND \(DueLook.reaches("planned_at", "$2"))
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

    /// What is for now is about to be expanded by whoever has just kept it: a scheduler sees to it only later.
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

    /// Those whom an event names may have become fewer; whom else it is for never changes.
    private static let lookUp = Statement(
        """
        SELECT r.position, coalesce(e.content_hash, ''::bytea), e.cancelled_at IS NOT NULL,
               coalesce((e.content -> 'to' ? 'users' AND r.content -> 'to' ? 'users')
                        OR e.content -> 'to' = r.content -> 'to', false)
        FROM unnest($1::text[], $2::text[], $3::jsonb[]) WITH ORDINALITY AS r (app, id, content, position)
        JOIN events e ON e.app = ANY (ARRAY[r.app]) AND e.id = r.id
        """
    )

    /// Those that are the same but for what a scheduler changes, and for what the catalogue fills in.
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
