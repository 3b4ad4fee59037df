import BellhopRules
import Foundation
import IntegrationSupport
import Postgres
import Store
import Synchronization
import TestSupport
import Testing

@Suite(
    "Erasure",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ErasureTests {
    @Test("a record that is written during an erasure is deleted by the second pass, which waits for it")
    func inFlight() async throws {
        try await ServerFixture.withSchema { servers in
            let (isOpen, mayEnd) = (BlockingFlag(), BlockingFlag())
            _ = try await servers.owner.run("INSERT INTO people (app, user_id) VALUES ('drop', 'u1')")
            async let writing: Void = servers.owner.transaction { (connection) throws(PostgresError) in
                try connection.execute("SET LOCAL ROLE bellhop_worker")
                _ = try connection.run(Self.record)
                isOpen.raise()
                mayEnd.waitUntilRaised()
            }
            try await eventually("it is being written") { isOpen.isRaised }
            try await servers.feed([#"{"app":"drop","eventType":"recipient.deleted","userId":"u1"}"#])
            let book = ErasureStore(pool: servers.pool)
            let early = try await book.repeatDue(after: .zero, atMost: 10)
            #expect(early == 0)
            mayEnd.raise()
            try await writing
            let missed = try await servers.count("SELECT count(*) FROM notifications")
            #expect(missed == 1)
            let impatient = try await book.repeatDue(after: .seconds(600), atMost: 10)
            #expect(impatient == 0)
            // The second pass also waits for concurrent writes of other tests.
            try await eventually("it is erased once more") { try await book.repeatDue(after: .zero, atMost: 10) > 0 }
            let left = try await servers.count("SELECT count(*) FROM notifications")
            #expect(left == 0)
            let noted = try await servers.count("SELECT (SELECT count(*) FROM erasures) + count(*) FROM people")
            #expect(noted == 0)
        }
    }

    @Test("the second pass runs after a restore from another server, whatever transaction number is stored")
    func restored() async throws {
        try await ServerFixture.withSchema { servers in
            let book = ErasureStore(pool: servers.pool)
            let none = try await book.oldest()
            #expect(none == nil)
            // These rows come from a dump: one has a transaction number that this server has not reached, the other is
            // older than the server's start.
            for (user, columns) in [
                ("u1", "now() - interval '5 min', '99999999999'::xid8"),
                ("u2", "pg_postmaster_start_time() - interval '5 min', pg_snapshot_xmax(pg_current_snapshot())"),
            ] {
                _ = try await servers.owner.run(
                    Statement(
                        """
                        INSERT INTO erasures (app, user_id, said_at, recorded_at, transaction)
                        SELECT 'drop', '\(user)', now(), \(columns)
                        """
                    )
                )
                _ = try await servers.owner.run("INSERT INTO people (app, user_id) VALUES ('drop', $1)", [.text(user)])
            }
            let oldest = try #require(try await book.oldest())
            #expect(oldest >= .seconds(300))
            let found = try await book.repeatDue(after: .seconds(60), atMost: 10)
            #expect(found == 2)
            let left = try await servers.count("SELECT (SELECT count(*) FROM erasures) + count(*) FROM people")
            #expect(left == 0)
        }
    }

    @Test("a dead letter or stored event that arrives after the erasure is stored without the user, or not at all")
    func late() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([
                #"{"app":"drop","eventType":"recipient.deleted","userId":"u1","sentAtIso":"2026-02-01T00:00:00Z"}"#
            ])
            let before = #""sentAtIso":"2026-01-01T00:00:00Z""#
            let after = #""sentAtIso":"2026-03-01T00:00:00Z""#
            let bodies = [
                "a": #"{"to":{"user":"u1"},\#(before)}"#, "b": #"{"to":{"users":["u1","u2"]},\#(before)}"#,
                "c": #"{"to":{"user":"u1"},\#(after)}"#, "d": #"{"userId":"u1"}"#,
                "e": #"{"to":{"user":"u1"},"title":"cut"#, "f": #"{"to":{"topic":"t"},"data":{"userId":"u1"}}"#,
                "g": #"{"specversion":"1.0","data":{"to":{"users":["u2","u1"]}}}"#,
                "h": #"{"notifications":[["drop","u1","n"],["drop","u2","n"],["padel","u1","n"]]}"#,
            ]
            // Rejected because it names no app; its routing key begins with one.
            let nameless = DeadLetterSamples.rejected("i", reason: "unknown-app", app: nil, body: bodies["a"] ?? "")
            let letters = bodies.map { DeadLetterSamples.rejected($0.key, body: $0.value) } + [nameless]
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            let filed = try await servers.column(Self.letters)
            let shared = #"{"notifications":[["drop","u2","n"],["padel","u1","n"]]}"#
            let late = bodies["c"] ?? ""
            let topic = bodies["f"] ?? ""
            let expected: [String?] = [
                #"b {"sentAtIso":"2026-01-01T00:00:00Z","to":{"users":["u2"]}} u2"#, "c \(late) u1",
                "f \(topic) -", #"g {"data":{"to":{"users":["u2"]}},"specversion":"1.0"} u2"#,
                "h \(shared) -",
            ]
            #expect(filed == expected)
            let plans = try [#"["u1"]"#, #"["u1","u2"]"#].map { try servers.plan(for: $0, before) }
            let outcomes = try await WorkerStore(pool: servers.pool).keep(plans)
            #expect(outcomes == [.cancelled, .kept])
            let kept = try await servers.column("SELECT content #>> '{to,users}' FROM events")
            #expect(kept == [#"["u2"]"#])
        }
    }

    @Test("a deletion that arrives after the user's return suppresses no notification, in any order")
    func overtaken() async throws {
        func word(_ type: String, _ month: Int) -> String {
            #"{"app":"drop","eventType":"recipient.\#(type)","userId":"u1","sentAtIso":"2026-0\#(month)-01T00:00:00Z"}"#
        }
        for words in [
            [word("upserted", 3), word("deleted", 2)],
            [word("deleted", 2), word("upserted", 5), word("upserted", 3), word("deleted", 4)],
        ] {
            try await ServerFixture.withSchema { servers in
                for word in words { try await servers.feed([word]) }
                let returned = try await servers.column("SELECT (returned_at > deleted_at)::text FROM tombstones")
                #expect(returned == ["true"])
                // An event without a source time is for the current user.
                try await servers.record(events: ["e"], state: "delivered")
                #expect(try await servers.column("SELECT event_id FROM notifications") == ["e"])
            }
        }
    }

    @Test("a user who was fed again keeps later dead letters, and a repeated old deletion removes none")
    func returned() async throws {
        try await ServerFixture.withSchema { servers in
            let deleted =
                #"{"app":"drop","eventType":"recipient.deleted","userId":"u1","sentAtIso":"2026-02-01T00:00:00Z"}"#
            try await servers.feed([
                deleted,
                #"{"app":"drop","eventType":"recipient.upserted","userId":"u1","sentAtIso":"2026-03-01T00:00:00Z"}"#,
            ])
            let letters = [DeadLetterSamples.rejected("a", body: #"{"to":{"user":"u1"}}"#)]
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            try await servers.feed([deleted])
            let filed = try await servers.column(Self.letters)
            #expect(filed == [#"a {"to":{"user":"u1"}} u1"#])
        }
    }

    @Test(
        "no row of a user outlives the second pass, whatever the user's client sends before the deletion is processed"
    )
    func clientMeanwhile() async throws {
        try await Self.withClient { servers, client in
            try await Self.fill(servers)
            let before = try await servers.column(Self.owned)
            #expect(before == ["1"])
            try await Self.speak(client)
            try await servers.feed([Self.deleted])
            try await servers.eraseOnceMore()
            let left = try await servers.column(Self.owned)
            #expect(left == ["0"])
        }
    }

    @Test("a user whose source's clock is centuries ahead is erased by a deletion of today")
    func clockAhead() async throws {
        try await ServerFixture.withSchema { servers in
            let ahead = #""sentAtIso":"2999-01-01T00:00:00Z""#
            try await servers.feed(
                [#"{"app":"drop","eventType":"recipient.upserted","userId":"u1",\#(ahead)}"#],
                arrival: DeadLetterSamples.ago(86_400)
            )
            try await servers.record(events: ["e"], state: "delivered")
            try await servers.feed(
                [#"{"app":"drop","eventType":"recipient.deleted","userId":"u1"}"#],
                arrival: DeadLetterSamples.now
            )
            try await servers.eraseOnceMore()
            let left = try await servers.column(Self.owned)
            #expect(left == ["0"])
        }
    }

    @Test("a user who was fed again keeps data newer than a late deletion and loses older data")
    func lateDeletion() async throws {
        try await Self.withClient { servers, client in
            try await Self.fill(servers)
            _ = try await servers.owner.run("UPDATE inbox SET created_at = '2026-01-01'")
            try await servers.feed([
                #"{"app":"drop","eventType":"recipient.upserted","userId":"u1","sentAtIso":"2026-03-01T00:00:00Z"}"#
            ])
            try await Self.speak(client)
            try await servers.record(events: ["new"], state: "delivered")
            try await servers.feed([Self.deleted])
            try await servers.eraseOnceMore()
            let kept = try await servers.column("SELECT event_id FROM notifications")
            #expect(kept == ["new"])
            let lines = try await servers.count("SELECT count(*) FROM ledger")
            #expect(lines == 1)
            let devices = try await servers.column("SELECT device_token FROM push_subscriptions")
            #expect(devices == ["client"])
        }
    }

    @Test("an erased user at the end of a fan-out page is replaced by the previous user, and no page changes")
    func boundaries() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO recipients (app, user_id, source_time)
                SELECT 'drop', u, '2026-01-01' FROM unnest(ARRAY['a', 'b', 'c', 'd', 'e']) AS u
                """
            )
            _ = try await servers.owner.run(
                """
                WITH kept AS (
                    INSERT INTO events (app, id, cancelled_at) VALUES ('drop', 'e', now()) RETURNING app, id
                ), opened AS (
                    INSERT INTO fanouts (app, event_id, type, urgency, state, planned_to)
                    SELECT app, id, 'system', 2, 'paused', 'e' FROM kept RETURNING number
                )
                INSERT INTO fanout_pages (fanout, page, after, upto)
                SELECT number, p.page, p.after, p.upto
                FROM opened, (VALUES (0, '', 'c'), (1, 'c', 'd'), (2, 'd', 'e')) AS p (page, after, upto)
                """
            )
            try await servers.feed(
                ["c", "d", "e"].map {
                    #"{"app":"drop","eventType":"recipient.deleted","userId":"\#($0)","sentAtIso":"2026-02-01T00:00:00Z"}"#
                }
            )
            let pages = try await servers.column("SELECT after || '-' || upto FROM fanout_pages ORDER BY page")
            #expect(pages == ["-b", "b-b", "b-b"])
            #expect(try await servers.column("SELECT planned_to FROM fanouts") == ["b"])
        }
    }

    // MARK: - Fixtures

    private static let deleted =
        #"{"app":"drop","eventType":"recipient.deleted","userId":"u1","sentAtIso":"2026-02-01T00:00:00Z"}"#

    /// The query of whether any table has a row of the user: 1 if so, else 0, so that the result does not depend on the
    /// number of rows.
    private static let owned = """
        SELECT least(1, (SELECT count(*) FROM inbox) + (SELECT count(*) FROM ledger) + (SELECT count(*) FROM recipients)
            + (SELECT count(*) FROM notification_preferences) + (SELECT count(*) FROM push_subscriptions)
            + (SELECT count(*) FROM follows) + (SELECT count(*) FROM reminders) + (SELECT count(*) FROM dead_letters)
            + (SELECT count(*) FROM badge_updates) + (SELECT count(*) FROM people) + (SELECT count(*) FROM erasures))::text
        """

    /// Feeds data of January about the user, and adds a notification, a dead letter and a badge of today.
    private static func fill(_ servers: ServerFixture) async throws {
        let january = #""app":"drop","userId":"u1","sentAtIso":"2026-01-01T00:00:00Z""#
        try await servers.feed([
            #"{"eventType":"recipient.upserted",\#(january),"email":"u1@example.com"}"#,
            #"{"eventType":"subscription.upserted",\#(january),"token":"t","platform":"ios","provider":"fcm"}"#,
            #"{"eventType":"follow.added",\#(january),"topic":"venue:1"}"#,
            #"{"eventType":"reminder.set",\#(january),"id":"r","localTime":"09:00","title":"t","body":"b"}"#,
        ])
        try await servers.record(events: ["old"], state: "delivered")
        _ = try await servers.owner.run("UPDATE inbox SET read_at = now()")
        _ = try await DeadLetterStore(pool: servers.pool).file([
            DeadLetterSamples.rejected("a", body: #"{"to":{"user":"u1"}}"#)
        ])
    }

    /// Sends an update of every kind as the user's client, which has not learned of a deletion.
    private static func speak(_ client: UserStore) async throws {
        let reader = UserKey(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: "u1"))
        )
        let words = [
            #""eventType":"recipient.upserted","locale":"sv","preferences":{"enabled":true}"#,
            #""eventType":"subscription.upserted","token":"client","platform":"ios","provider":"fcm""#,
            #""eventType":"follow.added","topic":"venue:1""#, #""eventType":"follow.added","topic":"venue:2""#,
            #""eventType":"reminder.set","id":"r2","localTime":"09:00","title":"t","body":"b""#,
        ]
        for word in words {
            let update = try ServerFixture.update(#"{"app":"drop","userId":"u1",\#(word)}"#)
            let now = Timestamp(clamping: 1_800_000_000_000_000)
            let hearing = try await client.say(update, as: reader, at: now)
            #expect(hearing == .heard)
        }
    }

    /// Runs a body with the rights of the API and a token that was issued long ago.
    private static func withClient(_ body: (ServerFixture, UserStore) async throws -> Void) async throws {
        try await ServerFixture.withSchema { servers in
            let pool = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            do {
                try await body(servers, UserStore(pool: pool).admitting(tokenIssuedAt: Timestamp(clamping: 0)))
            } catch {
                await pool.close()
                throw error
            }
            await pool.close()
        }
    }

    private static let letters = """
        SELECT concat_ws(' ', dead_id, convert_from(body, 'UTF8'), coalesce(user_id, '-')) FROM dead_letters
        ORDER BY dead_id
        """

    private static let record: Statement = """
        INSERT INTO inbox (person, id, event_id, content_hash, type, title, body, urgency)
        SELECT number, 0, 'e1', '', 'system', 't', 'b', 2 FROM people WHERE user_id = 'u1'
        """
}

/// A flag that one thread raises; another thread waits for it and may block.
private final class BlockingFlag: Sendable {
    private let raised = Mutex(false)

    var isRaised: Bool { raised.withLock { $0 } }

    func raise() { raised.withLock { $0 = true } }

    func waitUntilRaised() {
        _ = blockUntil { isRaised }
    }
}

extension ServerFixture {
    /// Runs the second pass, which waits for concurrent writes of other tests.
    fileprivate func eraseOnceMore() async throws {
        let book = ErasureStore(pool: pool)
        try await eventually("it is erased once more") { try await book.repeatDue(after: .zero, atMost: 10) > 0 }
    }

    fileprivate func plan(for users: String, _ more: String) throws -> PlannedEvent {
        let body = """
            {"id":"p\(users.count)","app":"drop","eventType":"system","to":{"users":\(users)},"title":"t","body":"",
            "deliverAt":"2030-01-01T00:00:00Z",\(more)}
            """
        guard case .event(let event) = try submission(body) else { throw ServerFixtureError("no event") }
        return PlannedEvent(event: event, contentHash: ContentHash(of: event), priority: .low, expiresAt: nil)
    }
}
