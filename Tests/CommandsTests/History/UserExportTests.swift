import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop export",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct UserExportTests {
    private static func fill(_ servers: ServerFixture) async throws {
        for (type, body) in [
            (
                "recipient.upserted",
                #"{"userId":"ada","locale":"nb","timezone":"Europe/Oslo","email":"ada@example.com"}"#
            ),
            (
                "subscription.upserted",
                #"{"userId":"ada","token":"ExponentPushToken[secret1234]","platform":"ios","provider":"expo"}"#
            ),
            ("follow.added", #"{"userId":"ada","topic":"venue:42","role":"owner"}"#),
            (
                "reminder.set",
                #"{"userId":"ada","id":"r1","localTime":"09:00","title":"Rise","body":"and shine"}"#
            ),
        ] { try await servers.apply(body, as: type) }
        _ = try await servers.pool.run(
            """
            INSERT INTO inbox (person, id, urgency, content_hash, event_id, type, title, body)
            SELECT number, n, 1, '\\x00', 'e' || n, 'system', 'Title ' || n, 'Body'
            FROM people, generate_series(-600, 600) n WHERE user_id = 'ada'
            """
        )
        _ = try await servers.pool.run(
            """
            INSERT INTO ledger (person, id, target, state, reason)
            SELECT number, 7, 0, 'd', NULL FROM people WHERE user_id = 'ada'
            """
        )
    }

    @Test("the export is one JSON object with everything about the user, with masked tokens, and is in the audit")
    func export() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.fill(servers)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let answer = await prompt.run("export", "--app", "drop", "--user", "ada", "--by", "eve")
                #expect(answer.code == .done)
                let json = try JSONParser(limits: .init(bytes: 1 << 24, depth: 32)).parse(Array(answer.output.utf8))
                    .get()
                #expect(json["recipient"]?["email"]?.string == "ada@example.com")
                #expect(json["devices"]?.array?.first?["token"]?.string == "…234]")
                #expect(!answer.output.contains("secret"))
                #expect(json["follows"]?.array?.first?["role"]?.string == "owner")
                #expect(json["reminders"]?.array?.first?["localTime"]?.string == "09:00")
                let notifications = json["notifications"]?.array ?? []
                #expect(notifications.count == 1_201)
                let ids = Set(notifications.compactMap { item in item["id"]?.string })
                #expect(ids.count == 1_201)
                let delivered = notifications.filter { item in item["deliveries"]?.array?.isEmpty == false }
                #expect(delivered.first?["deliveries"]?.array?.first?["state"]?.string == "delivered")
                let audit = try await servers.column(
                    "SELECT concat_ws('|', operator, act, filter ->> 'user', filter ->> 'tokens', because) FROM audit"
                )
                #expect(audit == ["eve|export-user|ada|false|export of a user's data"])
                let whole = await prompt.run("export", "--app", "drop", "--user", "ada", "--tokens")
                #expect(whole.output.contains("ExponentPushToken[secret1234]"))
                let unknown = await prompt.run("export", "--app", "drop", "--user", "nobody")
                #expect(unknown.code == .answerIsNo)
                let misuse = await prompt.run("export", "--app", "drop")
                #expect(misuse.code == .usage)
            }
        }
    }
}
