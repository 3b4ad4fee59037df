import API
import BellhopJSON
import IntegrationSupport
import Postgres
import TestSupport
import Testing

/// The isolation of two users in two apps.
///
/// Whatever one of them calls, the others see nothing of it and lose nothing.
@Suite(
    "Isolation of users and apps",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct MatrixTests {
    private static let people = [("ada", "drop"), ("bob", "drop"), ("ada", "padel"), ("bob", "padel")]

    /// A call of each route, with the values of its path and body.
    private static let calls: [(method: String, path: String, route: String, body: String?)] = [
        ("GET", "/api/notifications", "/api/notifications", nil),
        ("PATCH", "/api/notifications", "/api/notifications", #"{"all":true,"state":"archived"}"#),
        ("GET", "/api/notifications/unread-count", "/api/notifications/unread-count", nil),
        ("GET", "/api/notifications/stream", "/api/notifications/stream", nil),
        ("GET", "/api/settings", "/api/settings", nil),
        ("PATCH", "/api/settings", "/api/settings", #"{"pushEnabled":false,"locale":"sv","email":"x@example.com"}"#),
        ("GET", "/api/preferences", "/api/preferences", nil),
        ("PUT", "/api/preferences", "/api/preferences", #"{"enabled":false}"#),
        ("PATCH", "/api/preferences", "/api/preferences", #"{"enabled":true}"#),
        (
            "POST", "/api/push-token", "/api/push-token",
            #"{"token":"ExponentPushToken[fresh]","platform":"ios","provider":"PROVIDER"}"#
        ),
        ("PATCH", "/api/push-token", "/api/push-token", #"{"token":"TOKEN","permission":"denied"}"#),
        ("DELETE", "/api/push-token", "/api/push-token", #"{"token":"TOKEN"}"#),
        ("GET", "/api/follows", "/api/follows", nil),
        ("PUT", "/api/follows/club:1", "/api/follows/{topic}", #"{"muted":true}"#),
        ("DELETE", "/api/follows/club:1", "/api/follows/{topic}", nil),
        ("GET", "/api/reminders", "/api/reminders", nil),
        (
            "POST", "/api/reminders", "/api/reminders",
            #"{"localTime":"09:00","title":"Hei","body":"","eventType":"system"}"#
        ),
        (
            "PUT", "/api/reminders/r1", "/api/reminders/{id}",
            #"{"localTime":"08:00","title":"Hei","body":"","eventType":"system"}"#
        ),
        ("PATCH", "/api/reminders/r1", "/api/reminders/{id}", #"{"title":"Ny"}"#),
        ("DELETE", "/api/reminders/r1", "/api/reminders/{id}", nil),
        ("GET", "/api/catalog", "/api/catalog", nil),
        ("GET", "/api/web-push-key", "/api/web-push-key", nil),
    ]

    @Test("the list of calls covers every route of a user")
    func complete() {
        let called = Set(Self.calls.map { "\($0.method) \($0.route)" })
        // A publisher's token names no user.
        let routes = InboxAPI.routes.filter { $0.path.hasPrefix("/api/") && $0.path != "/api/events" }
        #expect(called == Set(routes.map { "\($0.method) \($0.path)" }))
    }

    @Test("a call neither shows nor changes data of another user, nor of the same user id in another app")
    func matrix() async throws {
        try await APIFixture.with { api in
            for (place, person) in Self.people.enumerated() { try await Self.settle(person, place, api) }
            for call in Self.calls {
                let provider = "expo"
                let before = try await Self.others(api)
                let body = call.body?.replacing("PROVIDER", with: provider).replacing("TOKEN", with: "token-0")
                let answer = try await api.call(call.method, call.path, body, as: "ada", app: "drop")
                #expect(answer.status < 300, "\(call.method) \(call.path): \(answer.text)")
                let strangers = (1...3).filter { answer.text.contains("secret-\($0)") }
                #expect(strangers.isEmpty, "\(call.method) \(call.path) shows others")
                let after = try await Self.others(api)
                #expect(after == before, "\(call.method) \(call.path) changes others")
            }
        }
    }

    @Test("an object of another user is treated as missing")
    func named() async throws {
        try await APIFixture.with { api in
            for (place, person) in Self.people.enumerated() { try await Self.settle(person, place, api) }
            let before = try await Self.state(api, "true")
            let foreign: [(String, String, String?, Int)] = [
                ("PATCH", "/api/notifications", #"{"notificationIds":["\#(APIFixture.id(2))"]}"#, 200),
                ("PATCH", "/api/push-token", #"{"token":"token-1","permission":"denied"}"#, 404),
                ("PATCH", "/api/reminders/only-1", #"{"title":"x"}"#, 404),
                ("DELETE", "/api/reminders/only-1", nil, 404),
            ]
            for (method, path, body, status) in foreign {
                let answer = try await api.call(method, path, body, as: "ada", app: "drop")
                #expect(answer.status == status, "\(method) \(path)")
                #expect(answer["updated"] == nil || answer["updated"] == 0)
            }
            #expect(try await Self.state(api, "true") == before)
        }
    }

    @Test("a query without a filter returns only the signed-in user's rows, and none without a user")
    func wrongQuery() async throws {
        try await APIFixture.with { api in
            for (place, person) in Self.people.enumerated() { try await Self.settle(person, place, api) }
            let pool = try ServerFixture.makePool(setUp: api.servers.namespace.setUp(as: .api))
            for table in Self.tables {
                let all = Statement("SELECT count(*) FROM \(table.name)")
                let nobody = try await pool.run(all).integer(0, 0)
                let own = try await pool.transaction { (connection) throws(PostgresError) in
                    _ = try connection.run(
                        "SELECT set_config('bellhop.app', 'drop', true), set_config('bellhop.user', 'ada', true)"
                    )
                    return try connection.run(all).integer(0, 0)
                }
                #expect(nobody == 0, "\(table.name)")
                #expect(own == 1, "\(table.name)")
            }
            await pool.close()
        }
    }

    private static let tables: [(name: String, owner: String)] = [
        ("notifications", "user_id"), ("recipients", "user_id"), ("notification_preferences", "profile_id"),
        ("push_subscriptions", "profile_id"), ("follows", "user_id"), ("reminders", "user_id"), ("people", "user_id"),
    ]

    /// Stores every kind of data that a user can have, each with a text that identifies the user.
    private static func settle(_ person: (user: String, app: String), _ place: Int, _ api: APIFixture) async throws {
        let type = person.app == "drop" ? "system" : "admin_announcement"
        try await api.notify(place + 1, for: person.user, app: person.app, type: type)
        let (app, user, owner) = (person.app, person.user, api.servers.owner)
        let own = [app, user, "secret-\(place)"].map { Parameter.text($0) }
        _ = try await owner.run("UPDATE notifications SET body = $3 WHERE app = $1 AND user_id = $2", own)
        _ = try await owner.run(
            "INSERT INTO recipients (app, user_id, email, source_time) VALUES ($1, $2, $3 || '@x', now())",
            own
        )
        _ = try await owner.run(
            """
            INSERT INTO notification_preferences (app, profile_id, preferences, source_time)
            VALUES ($1, $2, jsonb_build_object('by', $3::text), now())
            """,
            own
        )
        _ = try await owner.run(
            """
            INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                            last_seen_at, source_time)
            VALUES ($1, $2, 'sub_a00000000000000' || $3::text, 'ios', 'expo', 'token-' || $3::text, now(), now(), now())
            """,
            [own[0], own[1], .text("\(place)")]
        )
        _ = try await owner.run(
            "INSERT INTO follows (app, user_id, topic, since, source_time) VALUES ($1, $2, 'club:' || $3, now(), now())",
            own
        )
        let reminder = person.user == "ada" && person.app == "drop" ? "r1" : "only-\(place)"
        _ = try await owner.run(
            """
            INSERT INTO reminders (app, user_id, id, local_time, title, body, event_type, source_time)
            VALUES ($1, $2, $4, '09:00', $3, '', 'system', now())
            """,
            own + [.text(reminder)]
        )
    }

    /// The rows of all users except Ada in drop, as text.
    private static func others(_ api: APIFixture) async throws -> [String?] {
        try await state(api, "NOT (app = 'drop' AND OWNER = 'ada')")
    }

    private static func state(_ api: APIFixture, _ condition: String) async throws -> [String?] {
        var rows: [String?] = []
        for table in tables {
            let condition = condition.replacing("OWNER", with: table.owner)
            rows += try await api.servers.column(
                "SELECT t::text FROM \(table.name) t WHERE \(condition) ORDER BY 1"
            )
        }
        return rows
    }
}
