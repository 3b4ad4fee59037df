import BellhopRules
import Cryptography
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

/// The row from which a worker reads a user's data, and the number that identifies the user.
@Suite(
    "Rows of users",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct UserNumbersTests {
    private static let device = """
        {"app":"drop","eventType":"subscription.upserted","userId":"u1","token":"t1","platform":"ios","provider":"fcm"}
        """

    private static func person(_ servers: ServerFixture, _ user: String = "u1") async throws -> (
        key: UserKey, Recipient
    ) {
        let app = try #require(AppID(validating: "drop"))
        let key = UserKey(app: app, user: try #require(UserID(validating: user)))
        let found = try await WorkerStore(pool: servers.pool).recipients(of: [key])
        let place = try #require(found.index(forKey: key))
        return (found.keys[place], found.values[place])
    }

    @Test("the row follows every change of settings, preferences and devices, whatever the writer")
    func inStep() async throws {
        try await ServerFixture.withSchema { servers in
            let (stranger, defaults) = try await Self.person(servers)
            #expect(stranger.number == nil)
            #expect(defaults == Recipient())
            try await servers.feed([
                #"{"app":"drop","eventType":"recipient.upserted","userId":"u1","locale":"sv","email":"u1@example.com","pushEnabled":false}"#,
                #"{"app":"drop","eventType":"recipient.upserted","userId":"u1","preferences":{"master":false}}"#,
                Self.device,
            ])
            let (key, person) = try await Self.person(servers)
            #expect(key.number != nil)
            #expect(person.locale?.text == "sv")
            #expect(person.email?.text == "u1@example.com")
            #expect(!person.pushEnabled && person.emailEnabled)
            #expect(person.preferences != nil)
            #expect(person.devices.map(\.token.text) == ["t1"])
            _ = try await servers.owner.run("UPDATE push_subscriptions SET reached_at = now()")
            #expect(try await Self.person(servers).1.devices.map(\.wasReached) == [true])
            _ = try await servers.owner.run("UPDATE push_subscriptions SET revoked_at = now()")
            #expect(try await Self.person(servers).1.devices.isEmpty)
            _ = try await servers.owner.run("DELETE FROM notification_preferences")
            _ = try await servers.owner.run("DELETE FROM recipients")
            let (same, bare) = try await Self.person(servers)
            #expect(same.number == key.number)
            #expect(bare == Recipient())
        }
    }

    @Test("each of many users has their own preferences, even if others have the same")
    func sameWords() async throws {
        try await ServerFixture.withSchema { servers in
            let users = (1...6).map { "u\($0)" }
            try await servers.feed(
                users.enumerated().map { index, user in
                    #"{"app":"drop","eventType":"recipient.upserted","userId":"\#(user)","#
                        + #""preferences":{"enabled":\#(index % 3 != 0)}}"#
                }
            )
            let app = try #require(AppID(validating: "drop"))
            let keys = try users.map { UserKey(app: app, user: try #require(UserID(validating: $0))) }
            let found = try await WorkerStore(pool: servers.pool).recipients(of: keys)
            let said = keys.map { found[$0]?.preferences?.enabled }
            #expect(said == [false, true, true, false, true, true])
        }
    }

    @Test("a row contains both of two updates that are written concurrently")
    func sideBySide() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([#"{"app":"drop","eventType":"recipient.upserted","userId":"u1","locale":"nb"}"#])
            let other = try await RowLock.hold(on: servers, "UPDATE recipients SET locale = 'sv'") {
                let writing = Task { try await servers.feed([Self.device]) }
                let waits = """
                    SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                    WHERE NOT l.granted
                      AND a.pid IN (SELECT pid FROM pg_locks WHERE relation = '\(servers.namespace).people'::regclass)
                    """
                try await eventually("the other word waits for the row") { try await servers.count(waits) > 0 }
                return writing
            }
            try await other.value
            let person = try await Self.person(servers).1
            #expect(person.locale?.text == "sv")
            #expect(person.devices.map(\.token.text) == ["t1"])
        }
    }

    @Test("nothing is written under a number that has ended, and a user who returns has a new number")
    func endedNumber() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed(
                [#"{"app":"drop","eventType":"recipient.upserted","userId":"u1","sentAtIso":"2026-01-01T00:00:00Z"}"#]
            )
            let former = try await Self.person(servers).key
            try await servers.feed(
                [#"{"app":"drop","eventType":"recipient.deleted","userId":"u1","sentAtIso":"2026-02-01T00:00:00Z"}"#]
            )
            let book = ErasureStore(pool: servers.pool)
            try await eventually("it is erased again") { try await book.repeatDue(after: .zero, atMost: 10) > 0 }
            let nobody = try await Self.person(servers).key
            #expect(nobody.number == nil)
            func record(_ id: String, _ sentAt: String) async throws -> [RecordOutcome] {
                let records = try servers.records(id: id, users: ["u1"], title: "Hei", sentAt: sentAt)
                    .map { InboxRecord($0, of: former) }
                return try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            }
            let gone = try await record("e1", "2026-01-15T00:00:00Z")
            #expect(gone == [.recipientErased])
            // Newer than the erasure, but no feed message has restored the user.
            let unfed = try await record("e0", "2026-02-15T00:00:00Z")
            #expect(unfed == [.recorded])
            try await servers.feed(
                [#"{"app":"drop","eventType":"recipient.upserted","userId":"u1","sentAtIso":"2026-03-01T00:00:00Z"}"#]
            )
            let old = try await record("e2", "2026-01-15T00:00:00Z")
            let new = try await record("e3", "2026-03-15T00:00:00Z")
            #expect(old == [.recipientErased])
            #expect(new == [.recorded])
            #expect(try await servers.column("SELECT event_id FROM notifications ORDER BY 1") == ["e0", "e3"])
            #expect(try await servers.count("SELECT count(*) FROM inbox") == 2)
        }
    }

    @Test("a delivery is settled under its user's current number")
    func settledAnew() async throws {
        try await ServerFixture.withSchema { servers in
            let records = try servers.sending(id: "e1", users: ["u1"])
            let claim = Claim.fresh
            _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
            var key = DeliveryKey(records[0].key, target: 1)
            let history = try await servers.pool.withConnection { (connection) throws(PostgresError) in
                connection.history
            }
            key.notification.recipient.number = PersonNumber(value: -1, history: history)
            let ledger = WorkerStore(pool: servers.pool, lease: .seconds(60))
            let settled = try await ledger.settle([Settlement(key, .delivered)], of: claim)
            #expect(settled == 1)
            let again = try await ledger.settle([Settlement(key, .delivered)], of: claim)
            #expect(again == 0)
        }
    }

    @Test("a user who returns while the second pass ends the number is stored completely")
    func fedDuringSecondLook() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([#"{"app":"drop","eventType":"recipient.deleted","userId":"u1"}"#])
            _ = try await servers.owner.run("INSERT INTO people (app, user_id) VALUES ('drop', 'u1')")
            // The row is being deleted when the feed's trigger reaches it.
            let ending = "DELETE FROM people WHERE user_id = 'u1'"
            let feeding = try await RowLock.hold(on: servers, ending) {
                let feeding = Task {
                    _ = try await servers.owner.run(
                        "INSERT INTO recipients (app, user_id, locale, source_time) VALUES ('drop', 'u1', 'sv', now())"
                    )
                }
                let waits = """
                    SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                    WHERE NOT l.granted AND a.query LIKE '%INSERT INTO recipients%'
                      AND a.pid IN (SELECT pid FROM pg_locks WHERE relation = '\(servers.namespace).people'::regclass)
                    """
                try await eventually("the feed waits for the row") { try await servers.count(waits) > 0 }
                return feeding
            }
            try await feeding.value
            let (key, person) = try await Self.person(servers)
            #expect(key.number != nil)
            #expect(person.locale?.text == "sv")
        }
    }

    @Test("a device that moves to another user leaves its former user")
    func movedDevice() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.feed([Self.device])
            _ = try await servers.owner.run("UPDATE push_subscriptions SET profile_id = 'u2'")
            #expect(try await Self.person(servers).1.devices.isEmpty)
            #expect(try await Self.person(servers, "u2").1.devices.map(\.token.text) == ["t1"])
        }
    }

    @Test("a suppressed delivery without a target is stored with its notification, and the view shows it as a row")
    func unsent() async throws {
        try await ServerFixture.withSchema { servers in
            var records = try servers.records(id: "e1", users: ["u1", "u2"], title: "Hei")
            records[0] = records[0].with([.suppressed(.noDevice)])
            records[1] = records[1].with([.suppressed(.quietHours, target: "sub_0000000000000001")])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            let lines = try await servers.column(
                "SELECT concat_ws('|', user_id, channel, target, state, reason) FROM deliveries ORDER BY user_id"
            )
            let expected = ["u1|push|-|suppressed|no-device", "u2|push|sub_0000000000000001|suppressed|quiet-hours"]
            #expect(lines == expected)
            #expect(try await servers.count("SELECT count(*) FROM ledger") == 1)
            let story = try await NotificationHistoryStore(pool: servers.pool)
                .story(of: .notification(records[0].id), for: records[0].key.recipient)
            #expect(story.lines.map(\.target) == ["-"])
            #expect(story.lines.map(\.reason) == ["no-device"])
        }
    }

    @Test("unread notifications are counted for users who have a number")
    func unread() async throws {
        try await ServerFixture.withSchema { servers in
            let inbox = WorkerStore(pool: servers.pool)
            for id in ["e1", "e2", "e3"] {
                _ = try await inbox.record(try servers.records(id: id, users: ["u1"], title: "Hei"), as: .fresh)
            }
            _ = try await servers.owner.run("UPDATE inbox SET read_at = now() WHERE event_id = 'e2'")
            let key = try await Self.person(servers).key
            let stranger = try await Self.person(servers, "u2").key
            let unread = try await inbox.unread(of: [stranger, key])
            #expect(unread == [key: 2])
            _ = try await servers.owner.run("UPDATE inbox SET type = 'security'")
            let type = try #require(EventType(validating: "security"))
            let other = try #require(EventType(validating: "system"))
            #expect(try await inbox.unread(of: [key], leavingOut: [key.app: [other]]) == [key: 2])
            _ = try await servers.owner.run("UPDATE inbox SET type = 'system' WHERE event_id = 'e1'")
            #expect(try await inbox.unread(of: [key], leavingOut: [key.app: [other, type]]) == [key: 0])
            #expect(try await inbox.unread(of: [key], leavingOut: [key.app: [other]]) == [key: 1])
        }
    }

    @Test("a notification's id is the digest of the documented bytes")
    func notificationID() throws {
        let app = try #require(AppID(validating: "drop"))
        let user = try #require(UserID(validating: "u1"))
        for text in ["e", "é", String(repeating: "x", count: 255)] {
            let event = try #require(EventID(validating: text))
            let bytes = NotificationID.hashInput(app: app, event: event, user: user)
            let id = NotificationID(digest: SHA256.digest(of: bytes).bytes)
            #expect(NotificationID(app: app, event: event, user: user) == id)
        }
    }

    @Test(
        "a target is stored in eight bytes and read back unchanged",
        arguments: [
            ("email", 0), ("-", -1), ("sub_0000000000000001", 1), ("sub_fedcba9876543210", -81_985_529_216_486_896),
        ]
    )
    func targets(text: String, number: Int64) {
        #expect(TargetNumber.number(of: text) == number)
        #expect(TargetNumber.target(of: number) == text)
    }

    @Test(
        "text that no program of Bellhop writes is not a target",
        arguments: [
            "", "sub_1", "sub_000000000000000G", "sub_+000000000000001", "SUB_0000000000000001",
            "sub_00000000000000011",
        ]
    )
    func strayTargets(text: String) {
        #expect(TargetNumber.number(of: text) == nil)
    }
}
