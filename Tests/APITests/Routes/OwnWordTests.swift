import BellhopJSON
import BellhopRules
import Foundation
import HTTPServer
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

/// Updates by users of data that the app's servers also update.
@Suite(
    "A user's own updates",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct OwnWordTests {
    @Test("a user's update replaces one from a clock that is ahead, and the user's other rows keep the correct time")
    func clockAhead() async throws {
        try await APIFixture.with { api in
            _ = try await api.servers.owner.run(
                """
                INSERT INTO follows (app, topic, user_id, since, source_time)
                VALUES ('drop', 'club:1', 'ada', now(), now() + interval '1 year')
                """
            )
            #expect(try await api.call("PATCH", "/api/settings", #"{"locale":"sv"}"#).status == 200)
            let reminder = #"{"localTime":"09:00","title":"a","body":"","eventType":"system"}"#
            #expect(try await api.call("POST", "/api/reminders", reminder).status == 201)
            #expect(try await api.call("DELETE", "/api/follows/club:1").status == 204)
            #expect(try await api.call("GET", "/api/follows")["data"] == [])
            let ahead = """
                SELECT (SELECT count(*) FROM recipients WHERE source_time > now() + interval '1 h')
                     + (SELECT count(*) FROM reminders WHERE source_time > now() + interval '1 h')
                """
            #expect(try await api.servers.count(ahead) == 0)
        }
    }

    @Test("an update is rejected while a tombstone from a clock that is ahead forbids it")
    func erasedAhead() async throws {
        try await APIFixture.with { api in
            let reader = try api.recipient("ada")
            _ = try await api.servers.owner.run(
                "INSERT INTO tombstones (app, subject_hash, deleted_at) VALUES ('drop', $1, now() + interval '1 h')",
                [.bytes(IdentityHash.recipient(reader.app, reader.user).bytes)]
            )
            let answer = try await api.call("PATCH", "/api/settings", #"{"locale":"sv"}"#)
            #expect(answer.status == 401)
            #expect(answer.code == "erased")
            #expect(try await api.call("PATCH", "/api/settings", #"{"locale":"sv"}"#, as: "bob").status == 200)
        }
    }

    @Test(
        "a token from before an erasure gets 401 and writes no row, until a new token or recipient message"
    )
    func erasedBefore() async throws {
        try await APIFixture.with { api in
            let old = ["Authorization": "Bearer \(try api.token("ada", issuedIn: -30))"] as HTTPHeaders
            let device = #"{"token":"t","platform":"ios","provider":"fcm"}"#
            let calls: [(method: String, path: String, body: String?)] = [
                ("GET", "/api/notifications", nil), ("GET", "/api/notifications/stream", nil),
                ("GET", "/api/settings", nil),
                ("POST", "/api/push-token", device), ("PUT", "/api/preferences", "{}"),
                ("PUT", "/api/follows/club:1", "{}"), ("PATCH", "/api/notifications", #"{"all":true}"#),
            ]
            func statuses() async throws -> Set<Int> {
                var found: Set<Int> = []
                for call in calls {
                    let answer = try await api.call(call.method, call.path, call.body, as: nil, headers: old)
                    if answer.status == 401 { #expect(answer.code == "erased") }
                    found.insert(answer.status)
                }
                return found
            }
            #expect(try await statuses() == [200])
            // The deletion's clock is slightly ahead of the token's.
            try await api.feed("recipient.deleted", ahead: 2)
            #expect(try await statuses() == [401])
            let rows = """
                SELECT (SELECT count(*) FROM recipients) + (SELECT count(*) FROM push_subscriptions)
                    + (SELECT count(*) FROM notification_preferences) + (SELECT count(*) FROM follows)
                """
            #expect(try await api.servers.count(rows) == 0)
            #expect(try await api.call("GET", "/api/settings", as: "bob").status == 200)

            // A new token is valid after the second run of the erasure, while the old token is still invalid.
            _ = try await api.servers.owner.run("UPDATE tombstones SET deleted_at = deleted_at - interval '1 minute'")
            #expect(try await api.call("PUT", "/api/preferences", "{}").code == "erased")
            let book = ErasureStore(pool: api.servers.pool)
            try await eventually("it is erased again") { try await book.repeatDue(after: .zero, atMost: 10) > 0 }
            _ = try await api.servers.owner.run("UPDATE tombstones SET deleted_at = now() - interval '1 second'")
            #expect(try await statuses() == [401])
            let token = try api.token("ada", issuedIn: 1)
            let new = ["Authorization": "Bearer \(token)"] as HTTPHeaders
            #expect(try await api.call("PUT", "/api/preferences", "{}", as: nil, headers: new).status == 200)

            // A repeated deletion removes nothing from a user who has returned with a new token.
            try await api.feed("recipient.upserted", ahead: 10)
            #expect(try await statuses() == [200])
        }
    }

    @Test("a token without an issue time counts as older than the erasure")
    func unknownAge() async throws {
        try await APIFixture.with { api in
            let reader = try api.recipient("ada")
            let users = api.users.admitting(tokenIssuedAt: nil)
            try await users.admit(reader)
            try await api.feed("recipient.deleted", ahead: 0)
            let book = ErasureStore(pool: api.servers.pool)
            try await eventually("it is erased again") { try await book.repeatDue(after: .zero, atMost: 10) > 0 }
            do {
                try await users.admit(reader)
                Issue.record("an erased user was admitted")
            } catch let error as PostgresError {
                #expect(error.sqlState == SQLState.erasedReader)
            }
            try await api.users.admit(reader)
            try await api.feed("recipient.upserted", ahead: 1)
            try await users.admit(reader)
        }
    }

    @Test("two concurrent changes of one reminder are both stored")
    func concurrentReminders() async throws {
        try await APIFixture.with { api in
            let body = #"{"localTime":"09:00","title":"a","body":"b","eventType":"system"}"#
            let id = try #require(try await api.call("POST", "/api/reminders", body)["id"]?.string)
            for round in 0..<10 {
                async let title = api.call("PATCH", "/api/reminders/\(id)", #"{"title":"t\#(round)"}"#)
                async let words = api.call("PATCH", "/api/reminders/\(id)", #"{"body":"b\#(round)"}"#)
                let statuses = try await [title.status, words.status]
                #expect(statuses == [200, 200])
                let stored = try await api.call("GET", "/api/reminders")["data"]?.array?.first
                #expect(stored?["title"] == .string("t\(round)"))
                #expect(stored?["body"] == .string("b\(round)"))
            }
        }
    }

    @Test("ending a follow or a device that the user never had stores nothing")
    func nothingToEnd() async throws {
        try await APIFixture.with { api in
            let left = try await api.call("DELETE", "/api/follows/club:1")
            let revoked = try await api.call("DELETE", "/api/push-token", #"{"token":"never"}"#)
            #expect(left.status == 204 && revoked.status == 204)
            let follows = try await api.servers.count("SELECT count(*) FROM follows")
            let tombstones = try await api.servers.count("SELECT count(*) FROM tombstones")
            #expect(follows == 0 && tombstones == 0)
        }
    }

    @Test("ended follows and devices count towards the limits, so that a user cannot fill the tables")
    func ended() async throws {
        try await APIFixture.with { api in
            _ = try await api.servers.owner.run(
                """
                INSERT INTO follows (app, topic, user_id, since, source_time, removed_at)
                SELECT 'venues', 'venue:' || n, 'ada', now(), now(), now() FROM generate_series(1, 5000) n
                """
            )
            let follow = try await api.call("PUT", "/api/follows/venue:5001", app: "venues")
            #expect(follow.status == 409 && follow.code == "too-many-follows")
            _ = try await api.servers.owner.run(
                """
                INSERT INTO push_subscriptions
                    (app, profile_id, id, device_token, platform, provider, registered_at, last_seen_at, source_time,
                     revoked_at, revoke_reason)
                SELECT 'drop', 'ada', 'sub_' || lpad(to_hex(n), 16, '0'), 't' || n, 'ios', 'fcm', now(), now(), now(),
                       now(), 'unsubscribed'
                FROM generate_series(1, 200) n
                """
            )
            let device = #"{"token":"one more","platform":"ios","provider":"fcm"}"#
            let more = try await api.call("POST", "/api/push-token", device)
            #expect(more.status == 409 && more.code == "too-many-devices")
            let known = #"{"token":"t7","platform":"ios","provider":"fcm"}"#
            #expect(try await api.call("POST", "/api/push-token", known).status == 200)
        }
    }

    @Test("a catalogue defines the topics that users may follow")
    func followable() throws {
        let catalogs = try ServerFixture.shipped(
            "safe",
            replacing: #"followable: ["safe"]"#,
            with: #"followable: ["open"]"#
        )
        let rules = try #require(catalogs.catalogs.first?.topics)
        let open = try #require(Topic(validating: "open:1"))
        let closed = try #require(Topic(validating: "safe:1:0xab"))
        #expect(rules.mayBeFollowed(open))
        #expect(!rules.mayBeFollowed(closed))
        let usual = try #require(try ServerFixture.drop().catalogs.first?.topics)
        #expect(usual.mayBeFollowed(closed))
    }

    // MARK: - Fewer bytes

    @Test("a long list is compressed if the client accepts it, and not sent again if the client has it")
    func condensed() async throws {
        try await APIFixture.with { api in
            for number in 1...20 { try await api.notify(number) }
            let plain = try await api.call("GET", "/api/notifications")
            #expect(plain.headers["Content-Encoding"] == nil)
            let packed = try await api.call("GET", "/api/notifications", headers: ["Accept-Encoding": "br, gzip"])
            #expect(packed.headers["Content-Encoding"] == "gzip")
            #expect(packed.headers["Vary"] == "Accept-Encoding")
            #expect(packed.text == plain.text)
            let refusing = try await api.call("GET", "/api/notifications", headers: ["Accept-Encoding": "gzip;q=0"])
            #expect(refusing.headers["Content-Encoding"] == nil)
            for path in ["/api/notifications", "/api/catalog", "/api/web-push-key"] {
                let tag = try #require(try await api.call("GET", path).headers["ETag"])
                let again = try await api.call("GET", path, headers: ["If-None-Match": tag])
                #expect(again.status == 304, "\(path)")
                #expect(again.text.isEmpty)
                #expect(again.headers["ETag"] == tag)
            }
            let tag = try #require(plain.headers["ETag"])
            try await api.notify(21)
            let changed = try await api.call("GET", "/api/notifications", headers: ["If-None-Match": tag])
            #expect(changed.status == 200)
        }
    }
}

extension APIFixture {
    /// Applies a feed message about Ada, from a clock that is `seconds` ahead.
    fileprivate func feed(_ type: String, ahead seconds: Int64) async throws {
        let body = #"{"app":"drop","eventType":"\#(type)","userId":"ada"}"#
        guard case .feed(let update) = try servers.submission(body) else {
            throw ServerFixtureError("not a feed message")
        }
        let arrival = Timestamp(clamping: DeadLetterSamples.now.microseconds + seconds * 1_000_000)
        _ = try await WorkerStore(pool: servers.pool).apply([FeedEntry(update: update, arrival: arrival)])
    }
}
