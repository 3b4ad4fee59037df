import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Pauses",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct PauseTests {
    private static let far = "2099-01-01T00:00:00.000Z"

    /// Feeds a preference document to a user; each call is a second later than the previous one.
    private static func feed(_ servers: ServerFixture, _ second: Int, _ document: String, to user: String = "ada")
        async throws
    {
        // Noon of 1 March 2026.
        let time = Timestamp(clamping: (1_772_366_400 + Int64(second)) * 1_000_000)
        try await servers.feed([
            """
            {"app":"drop","eventType":"recipient.upserted","userId":"\(user)","sentAtIso":"\(time)",\
            "preferences":\(document)}
            """
        ])
    }

    /// Writes deliveries of a user that wait until the year 2099.
    private static func wait(_ servers: ServerFixture, _ user: String, _ reason: String, count: Int = 1) async throws {
        _ = try await servers.owner.run(
            """
            INSERT INTO ledger (person, id, target, state, reason, due_at, decision)
            SELECT p.number, n, 7, 'w', $2, $3::timestamptz, jsonb_build_object('until', $3::text)
            FROM people p, generate_series(1, $4) AS n WHERE p.user_id = $1
            ON CONFLICT DO NOTHING
            """,
            [.text(user), .text(reason), .text(far), .integer(Int64(count))]
        )
    }

    private static func due(_ servers: ServerFixture, _ user: String = "ada") async throws -> Int {
        try await servers.count(
            """
            SELECT count(*) FROM deliveries
            WHERE user_id = $1 AND due_at <= now()
              AND abs(extract(epoch FROM (decision ->> 'until')::timestamptz - due_at)) < 0.01
            """,
            [.text(user)]
        )
    }

    private static let stored = "SELECT preferences::text FROM notification_preferences"

    @Test("a document without a pause and choices for e-mail keeps the stored ones, and null removes them")
    func merged() async throws {
        try await ServerFixture.withSchema { servers in
            let both = #"{"enabled":true,"emailToggles":{"system":false},"pausedUntil":"\#(Self.far)"}"#
            try await Self.feed(servers, 1, both)
            try await Self.feed(servers, 2, #"{"enabled":false}"#)
            let kept = #"{"enabled": false, "pausedUntil": "\#(Self.far)", "emailToggles": {"system": false}}"#
            #expect(try await servers.column(Self.stored) == [kept])
            try await Self.feed(servers, 3, #"{"enabled":false,"emailToggles":{"promotional":true}}"#)
            let other = #"{"enabled": false, "pausedUntil": "\#(Self.far)", "emailToggles": {"promotional": true}}"#
            #expect(try await servers.column(Self.stored) == [other])
            // An older document changes nothing.
            try await Self.feed(servers, 2, #"{"enabled":true,"pausedUntil":null,"emailToggles":null}"#)
            #expect(try await servers.column(Self.stored) == [other])
            try await Self.feed(servers, 4, #"{"enabled":true,"pausedUntil":null,"emailToggles":null}"#)
            #expect(try await servers.column(Self.stored) == [#"{"enabled": true}"#])
            // Workers read this copy.
            #expect(try await servers.column("SELECT preferences FROM people") == [#"{"enabled": true}"#])
            try await Self.feed(servers, 5, both)
            try await Self.feed(servers, 6, "null")
            #expect(try await servers.column(Self.stored) == ["null"])
        }
    }

    @Test("the end of a pause makes the user's paused deliveries due, and no others")
    func released() async throws {
        try await ServerFixture.withSchema { servers in
            for user in ["ada", "bo"] {
                try await Self.feed(servers, 1, #"{"pausedUntil":"\#(Self.far)"}"#, to: user)
                try await Self.wait(servers, user, "paused")
            }
            _ = try await servers.owner.run(
                """
                INSERT INTO ledger (person, id, target, state, reason, due_at)
                SELECT p.number, n.id, 8, n.state, n.reason, '2099-01-01'
                FROM people p, (VALUES (1, 'w'::"char", 'quiet-hours'), (2, 'w', 'digest'), (3, 'r', 'paused'))
                    AS n (id, state, reason)
                WHERE p.user_id = 'ada'
                """
            )
            try await Self.feed(servers, 2, #"{"enabled":false}"#)
            #expect(try await Self.due(servers) == 0, "the pause is kept")
            try await Self.feed(servers, 3, #"{"pausedUntil":"2098-01-01T00:00:00.000Z"}"#)
            let shorter = "SELECT count(*) FROM deliveries WHERE due_at = '2098-01-01' AND reason = 'paused'"
            #expect(try await servers.count(shorter) == 1)
            try await Self.feed(servers, 4, #"{"pausedUntil":"\#(Self.far)"}"#)
            #expect(try await servers.count(shorter) == 1, "a longer pause moves nothing")
            try await Self.feed(servers, 5, #"{"pausedUntil":null}"#)
            #expect(try await Self.due(servers) == 1)
            let others = "SELECT count(*) FROM deliveries WHERE due_at = '2099-01-01'"
            #expect(try await servers.count(others) == 4)
        }
    }

    @Test(
        "a document of an app without a catalogue may have any text as the end of a pause, and counts as none",
        arguments: ["soon", "2026-13-45T99:00:00Z", "infinity", "9999999-01-01T00:00:00Z"]
    )
    func anyText(text: String) async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.feed(servers, 1, #"{"pausedUntil":"\#(Self.far)"}"#)
            try await Self.wait(servers, "ada", "paused")
            try await Self.feed(servers, 2, #"{"pausedUntil":"\#(text)"}"#)
            #expect(try await Self.due(servers) == 1)
        }
    }

    @Test("the release of one user is bounded, and the cost does not depend on the deliveries of others")
    func bounded() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            try await OtherUsers.count(in: servers)
            try await Self.feed(servers, 1, #"{"pausedUntil":"\#(Self.far)"}"#)
            try await OtherUsers.arrive(at: servers)
            // The others are paused, too, and the user has many deliveries that are over.
            _ = try await servers.owner.run("UPDATE ledger SET reason = 'paused' WHERE state = 'w'")
            _ = try await servers.owner.run(
                """
                INSERT INTO ledger (person, id, target, state)
                SELECT p.number, n, 9, 'd' FROM people p, generate_series(1, 20000) AS n WHERE p.user_id = 'ada'
                """
            )
            let most = Int(PauseRelease.most)
            try await Self.wait(servers, "ada", "paused", count: most + 20)
            let worker = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .worker), size: 1)
            let store = WorkerStore(pool: worker)
            let ada = try #require(UserKey("drop", "ada"))
            let bo = try #require(UserKey("drop", "crowd-1"))
            let before = try await OtherUsers.rowsRead(servers, by: worker)
            #expect(try await store.releasePaused(of: [bo]) == 0)
            let after = try await OtherUsers.rowsRead(servers, by: worker)
            for (table, rows) in after {
                let read = rows - (before[table] ?? 0)
                #expect(read < 100, "\(read) rows of \(table)")
            }
            _ = try await servers.owner.run(
                "UPDATE notification_preferences SET preferences = '{}' WHERE profile_id = 'ada'"
            )
            #expect(try await store.releasePaused(of: [ada]) == most)
            #expect(try await store.releasePaused(of: [ada]) == 20)
            await worker.close()
        }
    }

    @Test("the second look of a worker waits for a change of the pause that is not committed yet")
    func race() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.feed(servers, 1, #"{"pausedUntil":"\#(Self.far)"}"#)
            let gate = "hashtext('\(servers.namespace)')"
            let keeper = try ServerFixture.makePool(setUp: [], size: 1)
            _ = try await keeper.run(Statement("SELECT pg_advisory_lock(\(gate))::text"))
            // The user's change has released what it found, and is not committed.
            let change = Task {
                try await servers.owner.withConnection { (connection) throws(PostgresError) in
                    try connection.execute(
                        """
                        BEGIN;
                        UPDATE notification_preferences SET preferences = '{}';
                        SELECT release_paused(ARRAY['drop'], ARRAY['ada'], 10);
                        SELECT pg_advisory_xact_lock(\(gate));
                        COMMIT;
                        """
                    )
                }
            }
            let blocked = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1
                """
            func wait(until query: String) async throws {
                try await eventually("\(query) waits") {
                    try await keeper.run(Statement(blocked), [.text(query)]).integer(0, 0) > 0
                }
            }
            try await wait(until: "%pg_advisory_xact_lock(\(gate))%")
            // The worker has decided by the former preferences.
            try await Self.wait(servers, "ada", "paused")
            let ada = try #require(UserKey("drop", "ada"))
            let worker = try ServerFixture.makePool(
                setUp: servers.namespace.setUp(as: .worker) + ["SET application_name TO 'second look'"],
                size: 1
            )
            let look = Task { try await WorkerStore(pool: worker).releasePaused(of: [ada]) }
            try await eventually("the worker waits") {
                try await keeper.run(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'second look' AND wait_event_type = 'Lock'"
                ).integer(0, 0) > 0
            }
            _ = try await keeper.run(Statement("SELECT pg_advisory_unlock(\(gate))::text"))
            try await change.value
            #expect(try await look.value == 1)
            #expect(try await Self.due(servers) == 1)
            await keeper.close()
            await worker.close()
        }
    }

    @Test("the API may release deliveries of the signed-in user, and has no other access to the ledger")
    func rights() async throws {
        try await ServerFixture.withSchema { servers in
            let api = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            let released = try await api.run("SELECT release_paused(ARRAY['drop'], ARRAY['ada'], 10)").integer(0, 0)
            #expect(released == 0)
            await #expect(throws: PostgresError.self) { try await api.run("SELECT count(*) FROM ledger") }
            await api.close()
        }
    }
}
