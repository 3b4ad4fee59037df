import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

/// The cost of a page of a long inbox must not depend on the inbox's length.
@Suite(
    "Long inboxes",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct LongInboxTests {
    private static let reader = UserKey("drop", "ada")

    @Test("every statement of a signed-in user uses a key, even on tables without statistics")
    func byKey() async throws {
        try await Self.withInbox(of: 0) { servers, pool in
            try await Self.tour(UserStore(pool: pool))
            let keys = try await Keys(in: servers)
            let looks = try await ServerPlans.looks(on: pool)
            #expect(looks.count > 20)
            for look in looks where !keys.suffice(for: look) {
                Issue.record("\(look)")
            }
        }
    }

    @Test("a page of 100,000 notifications reads no more rows than one of 100, except the count of the newest")
    func fewRows() async throws {
        try await Self.withInbox(of: 100_000) { servers, pool in
            let users = UserStore(pool: pool)
            let reader = try #require(Self.reader)
            let first = try await users.page(InboxQuery(limit: 20), of: reader)
            let next = try #require(first.next)
            let before = try await OtherUsers.rowsRead(servers, by: pool)["inbox"] ?? 0
            _ = try await users.page(InboxQuery(limit: 20, before: next), of: reader)
            let after = try await OtherUsers.rowsRead(servers, by: pool)["inbox"] ?? 0
            #expect(first.items.count == 20)
            #expect(after - before < UserStore.reach + 200, "\(after - before) rows")
        }
    }

    @Test("a search with few results stops after a limit, continues from there and omits nothing")
    func bounded() async throws {
        try await Self.withInbox(of: 25_000) { _, pool in
            let users = UserStore(pool: pool)
            let reader = try #require(Self.reader)
            let rare = try #require(EventType(validating: "rare"))
            var query = InboxQuery(limit: 50, types: [rare])
            var found: [String] = []
            var pages = 0
            while pages < 10 {
                let page = try await users.page(query, of: reader)
                found += page.items.map(\.title)
                pages += 1
                guard let next = page.next else { break }
                query.before = next
            }
            #expect(pages == 3)
            let expected = (1...25).reversed().map { "t\($0 * 1_000)" }
            #expect(found == expected)
        }
    }

    @Test("a first page pins the newest ten unread notifications of high priority among the newest thousand")
    func pinned() async throws {
        try await Self.withInbox(of: 1_200) { servers, pool in
            let reader = try #require(Self.reader)
            let pinned = {
                try await UserStore(pool: pool).page(InboxQuery(limit: 1), of: reader).pinned.map(\.title)
            }
            #expect(try await pinned().isEmpty)
            // Of these, 200 is not among the newest thousand.
            _ = try await servers.owner.run(
                """
                UPDATE inbox SET urgency = 0, read_at = CASE id WHEN 700 THEN now() END,
                    archived_at = CASE id WHEN 800 THEN now() END,
                    snoozed_until = CASE id WHEN 900 THEN now() + interval '1 h' WHEN 950 THEN now() - interval '1 h' END
                WHERE id IN (200, 201, 500, 700, 800, 900, 950, 1100)
                """
            )
            #expect(try await pinned() == ["t1100", "t950", "t500", "t201"])
            _ = try await servers.owner.run("UPDATE inbox SET urgency = 0 WHERE id > 1000")
            let newest = (1_191...1_200).reversed().map { "t\($0)" }
            #expect(try await pinned() == newest)
        }
    }

    private static func tour(_ users: UserStore) async throws {
        let reader = try #require(reader)
        let now = Timestamp(clamping: 1_800_000_000_000_000)
        for state in InboxQuery.State.allCases {
            _ = try await users.page(InboxQuery(state: state), of: reader)
        }
        _ = try await users.unreadCount(of: reader)
        let marks: [InboxAction] = [.seen, .read, .unread, .archived, .unarchived, .snoozed(until: now)]
        for mark in marks {
            _ = try await users.mark([NotificationID(bits: 1)], as: mark, of: reader)
            if case .snoozed = mark { continue }
            _ = try await users.markAll(as: mark, of: reader)
        }
        _ = try await users.settings(of: reader)
        _ = try await users.preferences(of: reader)
        _ = try await users.follows(of: reader)
        _ = try await users.reminders(of: reader)
        try await words(users, reader, now)
    }

    private static func words(_ users: UserStore, _ reader: UserKey, _ now: Timestamp) async throws {
        let topic = try #require(Topic(validating: "venue:1"))
        let reminder = try #require(ReminderID(validating: "r"))
        let token = try #require(DeviceToken(validating: "t"))
        let said: [(FeedType, JSONObject, Precondition?)] = [
            (.recipientUpserted, ["emailEnabled": false, "preferences": [:]], .hasNoPreferences),
            (.recipientUpserted, ["timezone": "Europe/Oslo"], .isKnown),
            (.subscriptionUpserted, ["token": "t", "platform": "ios", "provider": "fcm"], nil),
            (.followAdded, ["topic": "venue:1"], .followsFewer(than: 9, beside: topic)),
            (.reminderSet, reminderFields, .lacksReminder(reminder, fewerThan: 9)),
            (.reminderRemoved, ["id": "r"], .hasReminder(reminder)),
            (.subscriptionRevoked, ["token": "t"], nil), (.followRemoved, ["topic": "venue:1"], nil),
        ]
        for (type, fields, condition) in said {
            let update = try FeedUpdate.said(by: reader.user, of: reader.app, type, fields).get()
            let isDone = try await users.say(update, as: reader, at: now, where: condition) == .heard
            #expect(isDone, "\(type)")
        }
        try await users.optOut(of: reader, addressHash: [UInt8](repeating: 0, count: 16))
        try await users.admitting(tokenIssuedAt: now).admit(reader)
        _ = try await users.device(token, of: reader)
        _ = try await users.note(.denied, on: token, of: reader, at: now)
    }

    private static let reminderFields: JSONObject = ["id": "r", "localTime": "09:00", "title": "t", "body": ""]

    /// Runs a body with `count` notifications of one user in the inbox.
    private static func withInbox(
        of count: Int,
        _ body: (ServerFixture, PostgresPool) async throws -> Void
    ) async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            let pool = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api), size: 1)
            let result: Result<Void, any Error>
            do {
                _ = try await servers.owner.run(insert, [.integer(Int64(count))])
                try await body(servers, pool)
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await pool.close()
            try result.get()
        }
    }

    private static let insert = Statement(
        """
        INSERT INTO inbox (person, id, event_id, content_hash, type, title, body, urgency, created_at)
        SELECT raw_person('drop', 'ada'), n, 'e' || n, '', CASE n % 1000 WHEN 0 THEN 'rare' ELSE 'system' END,
               't' || n, 'b', 1, now() - interval '10 d' + n * interval '1 s'
        FROM generate_series(1, $1::bigint) n
        """
    )
}
