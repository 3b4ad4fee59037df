import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@Suite(
    "Retention of rows",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct RetentionStoreTests {
    @Test("an old notification is deleted with its deliveries, and a young one stays with its own")
    func notifications() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: ["old", "young"], state: "delivered")
            try await servers.age("inbox", "created_at", event: "old")
            let retired = try await servers.retire(.notifications)
            #expect(retired == [.notifications: 1, .deliveries: 1])
            #expect(try await servers.column("SELECT event_id FROM notifications") == ["young"])
            #expect(try await servers.count("SELECT count(*) FROM ledger") == 1)
            let again = try await servers.retire(.notifications)
            #expect(again == [.notifications: 0, .deliveries: 0])
        }
    }

    @Test("a snoozed notification is kept until it has been awake for the retention period")
    func snoozed() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: ["asleep", "awake"], state: "delivered")
            for event in ["asleep", "awake"] { try await servers.age("inbox", "created_at", event: event) }
            _ = try await servers.owner.run(
                """
                UPDATE inbox SET snoozed_until = CASE event_id
                    WHEN 'asleep' THEN now() + interval '100 days' ELSE created_at + interval '1 day' END
                """
            )
            _ = try await servers.retire(.notifications)
            #expect(try await servers.column("SELECT event_id FROM inbox") == ["asleep"])
        }
    }

    @Test(
        "an old notification stays while a delivery of it is owed or waits for a receipt",
        arguments: [
            ("pending", false), ("sending", false), ("retrying", false), ("deferred", false), ("accepted", false),
            ("delivered", true), ("suppressed", true), ("expired", true), ("failed", true), ("unknown", true),
        ]
    )
    func owed(state: String, goes: Bool) async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: ["old"], state: state)
            try await servers.age("inbox", "created_at", event: "old")
            _ = try await servers.owner.run(
                """
                INSERT INTO ledger (person, id, target, state) SELECT person, id, 77, 'd' FROM ledger
                """
            )
            _ = try await servers.retire(.notifications)
            #expect(try await servers.count("SELECT count(*) FROM inbox") == (goes ? 0 : 1))
            #expect(try await servers.count("SELECT count(*) FROM ledger") == (goes ? 0 : 2))
        }
    }

    @Test(
        "a notification of an open or replaying dead letter stays, and one of a closed dead letter is deleted",
        arguments: [("open", 1), ("replaying", 1), ("resolved", 0), ("discarded", 0)]
    )
    func named(state: String, left: Int) async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: ["e1"], state: "failed")
            _ = try await DeadLetterStore(pool: servers.pool).file([
                DeadLetterSamples.delivery(try DeadLetterSamples.key(user: "u1"))
            ])
            _ = try await servers.owner.run("UPDATE dead_letters SET state = $1", [.text(state)])
            try await servers.age("inbox", "created_at", event: "e1")
            _ = try await servers.retire(.notifications)
            #expect(try await servers.count("SELECT count(*) FROM inbox") == left)
        }
    }

    @Test("an event that arrives again after its notification was deleted creates a new notification")
    func again() async throws {
        try await ServerFixture.withSchema { servers in
            let inbox = WorkerStore(pool: servers.pool)
            let records = try servers.records(id: "old", users: ["u1"], title: "Hei")
            _ = try await inbox.record(records, as: .fresh)
            try await servers.age("inbox", "created_at", event: "old")
            _ = try await servers.retire(.notifications)
            let users = records.map(\.key.recipient)
            _ = try await WorkerStore(pool: servers.pool).recipients(of: users)
            _ = try await inbox.record(records, as: .fresh)
            #expect(try await servers.count("SELECT count(*) FROM inbox") == 1)
        }
    }

    @Test("deliveries without their notification are deleted when they are old and settled")
    func lines() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: ["kept", "gone-old", "gone-young"], state: "delivered")
            try await servers.pass("400 days", since: "updated_at", in: "ledger")
            try await servers.record(events: ["gone-owed"], state: "deferred")
            _ = try await servers.owner.run(
                """
                UPDATE ledger l SET updated_at = CASE i.event_id WHEN 'gone-young' THEN now()
                                                 ELSE now() - interval '400 days' END
                FROM inbox i WHERE i.person = l.person AND i.id = l.id
                """
            )
            _ = try await servers.owner.run("DELETE FROM inbox WHERE event_id LIKE 'gone%'")
            let retired = try await servers.retire(.deliveries)
            #expect(retired == [.deliveries: 1])
            let left = try await servers.column("SELECT state FROM deliveries ORDER BY state")
            #expect(left == ["deferred", "delivered", "delivered"])
        }
    }

    @Test("events are deleted after their retention, unless they are still to be expanded")
    func events() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO events (app, id, content, created_at, expanded_at, cancelled_at)
                SELECT 'drop', id, '{"to":{"users":["u1"]}}', now() - interval '400 days',
                       now() - expanded::interval, now() - cancelled::interval
                FROM (VALUES ('waits', NULL, NULL), ('out', '91 days', NULL), ('out-young', '89 days', NULL),
                             ('cancelled', NULL, '91 days'), ('out-and-cancelled', '91 days', '1 day'))
                     AS e (id, expanded, cancelled)
                """
            )
            let retired = try await servers.retire(.events)
            #expect(retired == [.events: 2])
            let left = try await servers.column("SELECT id FROM events ORDER BY id")
            #expect(left == ["out-and-cancelled", "out-young", "waits"])
        }
    }

    @Test("a tombstone is deleted when both its recording and its source time are old")
    func tombstones() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO tombstones (app, subject_hash, deleted_at, recorded_at)
                SELECT app, '\\x00', now() - deleted::interval, now() - recorded::interval
                FROM (VALUES ('old', '91 days', '91 days'), ('heard-late', '400 days', '1 day'),
                             ('ahead', '-1 day', '91 days')) AS t (app, deleted, recorded)
                """
            )
            let retired = try await servers.retire(.tombstones)
            #expect(retired == [.tombstones: 1])
            let left = try await servers.column("SELECT app FROM tombstones ORDER BY app")
            #expect(left == ["ahead", "heard-late"])
        }
    }

    @Test("the address of an ended device is deleted after the grace period, and the device later")
    func devices() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addDevices()
            let blanked = try await servers.retire(.tokens)
            #expect(blanked == [.tokens: 2])
            let left = try await servers.column(
                "SELECT concat_ws('|', id, device_token, subscription) FROM push_subscriptions ORDER BY id"
            )
            #expect(
                left == [
                    "sub_0000000000000001|t1|{\"keys\": 1}", "sub_0000000000000002|t2|{\"keys\": 1}",
                    "sub_0000000000000003|", "sub_0000000000000004|",
                ]
            )
            let gone = try await servers.retire(.devices)
            #expect(gone == [.devices: 1])
            #expect(try await servers.count("SELECT count(*) FROM push_subscriptions") == 3)
            // The active device is part of the user's row.
            let known = try await servers.column("SELECT devices FROM people")
            #expect(known.first??.contains("t1") == true)
        }
    }

    @Test("a device whose address was deleted is not restored and registers as a new device")
    func forgotten() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addDevices()
            _ = try await servers.retire(.tokens)
            let app = try #require(AppID(validating: "drop"))
            let back = try await WorkerStore(pool: servers.pool).takeBack(
                BreakerKey(app: app, provider: "apns"),
                since: DeadLetterSamples.ago(500 * 86_400)
            )
            #expect(back == 1)
            let entry = FeedEntry(
                update: try ServerFixture.update(
                    #"{"app":"drop","eventType":"subscription.upserted","userId":"u1","token":"t3","platform":"ios","provider":"apns"}"#
                ),
                arrival: DeadLetterSamples.now
            )
            _ = try await WorkerStore(pool: servers.pool).apply([entry])
            let living = try await servers.column(
                "SELECT device_token FROM push_subscriptions WHERE revoked_at IS NULL ORDER BY 1"
            )
            #expect(living == ["t1", "t2", "t3"])
        }
    }

    @Test("follows and reminders are deleted when they ended so long ago that no older update can arrive")
    func ended() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO follows (app, topic, user_id, since, source_time, removed_at)
                SELECT 'drop', topic, 'u1', now() - interval '500 d', now() - said, now() - ended
                FROM (VALUES ('stands', interval '400 d', NULL), ('late', interval '9 d', interval '400 d'),
                             ('recent', interval '80 d', interval '80 d'), ('old', interval '400 d', interval '400 d'))
                     AS f (topic, said, ended)
                """
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO reminders (app, user_id, id, local_time, title, body, source_time, removed_at)
                SELECT 'drop', 'u1', id, '09:00', 't', 'b', now() - interval '400 d', now() - ended
                FROM (VALUES ('stands', NULL), ('old', interval '400 d')) AS r (id, ended)
                """
            )
            #expect(try await servers.retire(.follows) == [.follows: 1])
            #expect(try await servers.retire(.reminders) == [.reminders: 1])
            let topics = try await servers.column("SELECT topic FROM follows ORDER BY 1")
            #expect(topics == ["late", "recent", "stands"])
            #expect(try await servers.column("SELECT id FROM reminders") == ["stands"])
        }
    }

    @Test("the progress of the retention is stored and never moves back")
    func upTo() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                "INSERT INTO tombstones (app, subject_hash, deleted_at) VALUES ('a', '', now())"
            )
            let days = """
                SELECT round(extract(epoch FROM now() - up_to) / 86400)::text FROM retired WHERE kind = 'tombstones'
                """
            for (tombstones, expected) in [("90d", "90"), ("40d", "40"), ("200d", "40")] {
                let retention = try #require(Retention("tombstones=\(tombstones)"))
                let book = RetentionStore(pool: servers.pool, retention: retention)
                _ = try await book.look(for: .tombstones, from: 0, pages: 1)
                let kept = try await servers.column(days)
                #expect(kept == [expected])
            }
            let others = try await servers.count("SELECT count(*) FROM retired WHERE kind <> 'tombstones'")
            #expect(others == 0)
        }
    }

    @Test("kinds that are never deleted are not searched")
    func never() async throws {
        let text = "notifications=never,events=90d,tombstones=never,tokens=40d"
        let retention = try #require(Retention(text))
        let pool = try PostgresPool.unused()
        #expect(RetentionStore(pool: pool, retention: retention).kinds == [.events, .tokens])
        #expect(RetentionStore(pool: pool, retention: .usual).kinds == RetentionKind.allCases)
    }
}
