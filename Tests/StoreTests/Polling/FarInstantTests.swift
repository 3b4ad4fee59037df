import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Instants far ahead",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct FarInstantTests {
    /// Rows in one place that a clock two years ahead has written, together with rows of a correct clock.
    struct Case: Sendable, CustomTestStringConvertible {
        let place: FarInstantBook.Place
        let rows: String
        /// Counts the rows that would wait for years.
        let far: String
        /// Counts the correct rows that are unchanged.
        let right: String

        var testDescription: String { place.rawValue }
    }

    private static let cases = [
        Case(
            place: .deliveries,
            rows: """
                INSERT INTO ledger (person, id, target, state, due_at, updated_at, urgency) VALUES
                    (1, 1, 1, 'w', now() + interval '2 years', now() + interval '2 years', 0),
                    (1, 2, 1, 's', now() + interval '2 years', now() + interval '2 years', 1),
                    (1, 3, 1, 'r', now() + interval '2 years', now() + interval '2 years', 2),
                    (1, 4, 1, 'w', now() + interval '7 days', now(), 2)
                """,
            far: "SELECT count(*) FROM ledger WHERE due_at > now() + interval '8 days' OR updated_at > now()",
            right: "SELECT count(*) FROM ledger WHERE due_at > now() + interval '6 days'"
        ),
        Case(
            place: .receipts,
            rows: """
                INSERT INTO ledger (person, id, target, state, due_at, sent_at) VALUES
                    (1, 1, 1, 'a', now() + interval '2 years', now() + interval '2 years'),
                    (1, 2, 1, 'a', now() + interval '16 hours', now())
                """,
            far: "SELECT count(*) FROM ledger WHERE due_at > now() + interval '1 day' OR sent_at > now()",
            right: "SELECT count(*) FROM ledger WHERE due_at > now() + interval '15 hours'"
        ),
        Case(
            place: .events,
            rows: """
                INSERT INTO events (app, id, content, planned_at, urgency) VALUES
                    ('drop', 'at once', '{}', now() + interval '2 years', 0),
                    ('drop', 'later', jsonb_build_object('deliverAt', now() + interval '40 days'),
                     now() + interval '2 years', 1),
                    ('drop', 'right', jsonb_build_object('deliverAt', now() + interval '300 days'),
                     now() + interval '300 days', 2)
                """,
            far: """
                SELECT count(*) FROM events
                WHERE id = 'at once' AND planned_at > now()
                   OR id = 'later' AND planned_at <> (content ->> 'deliverAt')::timestamptz
                """,
            right: "SELECT count(*) FROM events WHERE planned_at > now() + interval '299 days'"
        ),
        Case(
            place: .badges,
            rows: """
                INSERT INTO badge_updates (app, user_id, requested_at, handed_over_at) VALUES
                    ('drop', 'u1', now() + interval '2 years', now() + interval '2 years'), ('drop', 'u2', now(), now())
                """,
            far: "SELECT count(*) FROM badge_updates WHERE requested_at > now() OR handed_over_at > now()",
            right: "SELECT count(*) FROM badge_updates WHERE handed_over_at IS NOT NULL"
        ),
        Case(
            place: .reminders,
            rows: """
                INSERT INTO reminders (app, user_id, id, local_time, title, body, source_time, next_fire_at, last_fired_on)
                VALUES ('drop', 'u1', 'far', '09:00', 'T', 'B', now(), now() + interval '40 days',
                        (now() + interval '39 days')::date),
                       ('drop', 'u1', 'right', '09:00', 'T', 'B', now(), now() + interval '7 days', now()::date),
                       ('drop', 'u1', 'never', '09:00', 'T', 'B', now(), 'infinity', NULL)
                """,
            far: """
                SELECT count(*) FROM reminders WHERE id = 'far' AND (next_fire_at IS NOT NULL OR last_fired_on IS NOT NULL)
                """,
            right: "SELECT count(*) - 1 FROM reminders WHERE next_fire_at IS NOT NULL"
        ),
        Case(
            place: .pages,
            rows: """
                INSERT INTO events (app, id, content) VALUES ('drop', 'e', '{}');
                INSERT INTO fanouts (app, event_id, type, urgency) VALUES ('drop', 'e', 'system', 1);
                INSERT INTO fanout_pages (fanout, page, after, upto, handed_over_at, taken_at)
                SELECT number, page, '', '', at, CASE WHEN page = 1 THEN at END FROM fanouts, (VALUES
                    (1, now() + interval '2 years'), (2, 'infinity')) AS p (page, at)
                """,
            far: "SELECT count(*) FROM fanout_pages WHERE page = 1 AND (handed_over_at > now() OR taken_at > now())",
            right: "SELECT count(*) FROM fanout_pages WHERE handed_over_at = 'infinity'"
        ),
        Case(
            place: .breakers,
            rows: """
                INSERT INTO breakers (app, provider, reason, opened_at, probe_at) VALUES
                    ('drop', 'fcm', 'r', now() + interval '2 years', now() + interval '2 years'),
                    ('drop', 'apns', 'r', now(), now() + interval '5 min')
                """,
            far: "SELECT count(*) FROM breakers WHERE probe_at > now() + interval '6 min' OR opened_at > now()",
            right: "SELECT count(*) FROM breakers WHERE probe_at > now() + interval '4 min'"
        ),
        Case(
            place: .replays,
            rows: """
                INSERT INTO replays (filter, operator, because, items, pause_share, runner, runner_until) VALUES
                    ('{}', 'ada', 'b', 1, 50, 'one', now() + interval '2 years'),
                    ('{}', 'ada', 'b', 1, 50, 'two', now() + interval '1 min')
                """,
            far: "SELECT count(*) FROM replays WHERE runner = 'one' AND runner_until > now()",
            right: "SELECT count(*) FROM replays WHERE runner_until > now()"
        ),
        Case(
            place: .processes,
            rows: """
                INSERT INTO processes (id, role, version, host, process, catalogs, seen_at) VALUES
                    ('a', 'worker', '1', 'h', 1, '', now() + interval '2 years'), ('b', 'worker', '1', 'h', 2, '', now())
                """,
            far: "SELECT count(*) FROM processes WHERE seen_at > now() + interval '1 min'",
            right: "SELECT count(*) FROM processes WHERE id = 'b'"
        ),
    ]

    @Test(
        "rows that wait for an instant two years ahead become due, and rows with a usual instant still wait",
        arguments: cases
    )
    func setBack(_ given: Case) async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute(given.rows)
            }
            #expect(try await servers.count(given.far) > 0)
            let book = FarInstantBook(pool: servers.pool)
            var walk = FarInstantBook.Walk()
            let found = try await book.setBack(in: given.place, &walk)
            #expect(found > 0)
            #expect(try await servers.count(given.far) == 0)
            #expect(try await servers.count(given.right) == 1)
            let again = try await book.setBack(in: given.place, &walk)
            #expect(again == 0)
        }
    }

    @Test("a wrong event is found behind any number of events planned far ahead, a few per poll")
    func behindManyEvents() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO events (app, id, urgency, planned_at, content)
                SELECT 'drop', 'right ' || n, 1, at, jsonb_build_object('deliverAt', at)
                FROM (SELECT n, date_trunc('second', now()) + n * interval '1 s' + interval '40 days' AS at
                      FROM generate_series(1, 1200) AS n) AS r
                UNION ALL SELECT 'drop', 'wrong', 1, now() + interval '2 years', '{}'
                """
            )
            let book = FarInstantBook(pool: servers.pool)
            var walk = FarInstantBook.Walk()
            var found: [Int] = []
            for _ in 0..<6 { found.append(try await book.setBack(in: .events, &walk)) }
            #expect(found == [0, 0, 1, 0, 0, 0])
            #expect(try await servers.count("SELECT count(*) FROM events WHERE planned_at > now()") == 1_200)
        }
    }

    @Test("a clock that is behind resets nothing, even if all stored times are ahead of it")
    func behind() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run("UPDATE schema_migrations SET applied_at = now() + interval '1 year'")
            _ = try await servers.owner.run(
                """
                INSERT INTO ledger (person, id, target, state, due_at) VALUES (1, 1, 1, 'w', now() + interval '1 year')
                """
            )
            var walk = FarInstantBook.Walk()
            for place in FarInstantBook.Place.allCases {
                let found = try await FarInstantBook(pool: servers.pool).setBack(in: place, &walk)
                #expect(found == 0)
            }
        }
    }

    @Test(
        "a first attempt claimed at an instant ahead is found and released after its lease like any other"
    )
    func forgotten() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO ledger (person, id, target, state, claim, updated_at)
                VALUES (1, 1, 1, 's', 7, now() + interval '2 years'), (1, 2, 1, 's', 8, now())
                """
            )
            let book = ForgottenClaimStore(pool: servers.pool, olderThan: .seconds(60))
            let step = try await book.look(from: 0, pages: 10)
            #expect(step.found == 1)
            let claims = try await servers.column(
                "SELECT claim || ' ' || (updated_at <= now()) || ' ' || (due_at IS NULL) FROM ledger ORDER BY claim"
            )
            #expect(claims == ["7 true true", "8 true true"])
            _ = try await servers.owner.run("UPDATE ledger SET updated_at = now() - interval '2 min'")
            let later = try await book.look(from: 0, pages: 10)
            #expect(later.found == 2)
            #expect(try await servers.count("SELECT count(*) FROM ledger WHERE due_at IS NOT NULL") == 2)
        }
    }

    @Test("rows released at an instant ahead are taken again", arguments: ["events", "badge_updates"])
    func handedOver(table: String) async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO events (app, id, content, planned_at, handed_over_at)
                VALUES ('drop', 'e', '{"eventType":"system","to":{"users":["u1"]}}', now(), now() + interval '2 years')
                """
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO badge_updates (app, user_id, requested_at, handed_over_at)
                VALUES ('drop', 'u1', now(), now() + interval '2 years')
                """
            )
            if table == "events" {
                let taken = try await WorkerStore(pool: servers.pool).takeDueEvents(atMost: 10)
                #expect(taken.count == 1)
            } else {
                let taken = try await BadgeStore(pool: servers.pool).take(atMost: 10, calm: .zero)
                #expect(taken.count == 1)
            }
        }
    }
}
