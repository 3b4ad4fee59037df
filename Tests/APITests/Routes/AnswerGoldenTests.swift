import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

/// The answers of every route of the inbox API, as sent.
@Suite(
    "Answers of the inbox API, unchanged",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct AnswerGoldenTests {
    @Test("every route answers as stored, to valid and to invalid requests")
    func answers() async throws {
        try await APIFixture.with { api in
            for number in 1...3 { try await api.notify(number) }
            let device = #""token":"token-1","platform":"android","provider":"fcm""#
            let reminder = #"{"localTime":"08:30","days":["mon"],"title":"T","body":"B"}"#
            let calls: [(method: String, path: String, body: String?)] = [
                ("GET", "/api/notifications?limit=2", nil), ("GET", "/api/notifications?limit=0", nil),
                ("GET", "/api/notifications/unread-count", nil),
                ("PATCH", "/api/notifications", #"{"notificationIds":["\#(APIFixture.id(1))"]}"#),
                ("PATCH", "/api/notifications", #"{"notificationIds":[]}"#),
                ("GET", "/api/settings", nil), ("PATCH", "/api/settings", #"{"timezone":"Europe/Oslo"}"#),
                ("PATCH", "/api/settings", #"{"timezone":"Mars/Olympus"}"#), ("GET", "/api/preferences", nil),
                ("PUT", "/api/preferences", #"{"enabled":true,"quietHours":{"enabled":true,"startHour":99}}"#),
                ("POST", "/api/push-token", "{\(device)}"), ("POST", "/api/push-token", "{}"),
                ("PATCH", "/api/push-token", #"{"token":"token-1","permission":"denied"}"#),
                ("DELETE", "/api/push-token", #"{"token":"token-1"}"#), ("GET", "/api/follows", nil),
                ("PUT", "/api/follows/venue:42", "{}"), ("GET", "/api/follows", nil),
                ("DELETE", "/api/follows/venue:42", nil), ("GET", "/api/reminders", nil),
                ("POST", "/api/reminders", reminder), ("POST", "/api/reminders", "{}"),
                ("GET", "/api/reminders", nil), ("DELETE", "/api/reminders/nosuch", nil), ("GET", "/api/catalog", nil),
                ("GET", "/api/web-push-key", nil), ("POST", "/api/catalog", nil), ("GET", "/api/nosuch", nil),
            ]
            var entries: [String] = []
            for (method, path, body) in calls {
                let answer = try await api.call(method, path, body)
                let json = String(decoding: JSONWriter.canonicalBytes(of: answer.json ?? .null), as: UTF8.self)
                entries.append("\(method) \(path) \(body ?? "")\n\(answer.status) \(json)")
            }
            try Golden("api.txt").check(Golden.masked(entries.joined(separator: "\n\n")))
        }
    }
}
