import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop explain for a user",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ExplainUserTests {
    private static let user = ["explain", "--app", "drop", "--user", "ada"]

    @Test("without an event it shows settings, devices, holds, the latest notifications and dead letters of the user")
    func overview() async throws {
        try await ServerFixture.withSchema { servers in
            let sql = """
                INSERT INTO push_subscriptions (app, profile_id, id, device_token, platform, provider, registered_at,
                                                last_seen_at, source_time, revoked_at, revoke_reason)
                VALUES ('drop', 'ada', 'sub_0000000000000001', 't', 'ios', 'expo', now(), now(), now(), now(),
                        'DeviceNotRegistered');
                INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority, created_at)
                VALUES ('drop', 'ada', 'noti_0000000000000001', 'e1', '', 'security', 'First', 'b', 'high', '2026-03-01Z'),
                       ('drop', 'ada', 'noti_0000000000000002', 'e2', '', 'system', 'Second', 'b', 'normal', '2026-03-02Z'),
                       ('drop', 'bo', 'noti_0000000000000003', 'e3', '', 'system', 'Other', 'b', 'normal', '2026-03-03Z');
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, attempts)
                VALUES ('drop', 'ada', 'noti_0000000000000001', 'push', 'sub_0000000000000001', 'failed',
                        'DeviceNotRegistered', 1);
                INSERT INTO holds (app, type, provider, operator, because) VALUES ('drop', '', 'expo', 'bo', 'incident 4711')
                """
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute(sql)
            }
            let letter = DeadLetterSamples.rejected(
                "lost",
                reason: "invalid-field",
                user: "ada",
                error: "expected an instant"
            )
            let forTwo = DeadLetterSamples.rejected(
                "both",
                reason: "malformed-date",
                error: "expected a date",
                body: #"{"app":"drop","eventType":"system","to":{"users":["bo","ada"]},"sentAt":1}"#
            )
            _ = try await DeadLetterStore(pool: servers.pool).file([letter, forTwo])
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let answer = await prompt.run(Self.user)
                #expect(answer.code == .done, "\(answer.complaints)")
                let flat = answer.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                for words in [
                    "User ada of drop", "by the user's clock", "ios through expo (sub_0000000000000001), ended",
                    "drop, through expo: incident 4711 (bo, ", "security, event e1, unread",
                    "push to ios through expo (sub_0000000000000001): given up: the provider no longer knows the device",
                    "system, event e2, unread in the app only", "invalid-field, open: expected an instant",
                    "malformed-date, open: expected a date",
                    "One in detail: bellhop explain --app drop --user ada --event EVENT",
                ] {
                    #expect(flat.contains(words), "\(words): \(answer.output)")
                }
                #expect(!flat.contains("e3"), "\(answer.output)")
                let (second, first) = (flat.range(of: "event e2"), flat.range(of: "event e1"))
                let isSorted = second.flatMap { newer in first.map { newer.lowerBound < $0.lowerBound } }
                #expect(isSorted == true, "the newest is first")
                let json = await prompt.run(Self.user + ["--json"]).output
                #expect(json.hasPrefix(#"{"found":true,"app":"drop","user":"ada""#), "\(json)")
                #expect(json.contains(#""title":"Second""#), "\(json)")
            }
        }
    }

    @Test("a user without any data exits with 1")
    func unknown() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let answer = await prompt.run(Self.user)
                #expect(answer.code == .answerIsNo)
                #expect(answer.output.hasPrefix("Bellhop has stored nothing about user ada of drop"))
            }
        }
    }
}
