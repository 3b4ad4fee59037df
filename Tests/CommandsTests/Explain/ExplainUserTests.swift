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

    @Test("the topics that a user follows are listed, the muted ones first, with the number of the others")
    func follows() async throws {
        try await ServerFixture.withSchema { servers in
            let sql = """
                INSERT INTO follows (app, topic, user_id, role, muted, devices, since, source_time, removed_at)
                SELECT 'drop', 'venue:' || lpad(n::text, 2, '0'), 'ada', CASE n WHEN 1 THEN 'owner' END, n = 23,
                       CASE n WHEN 2 THEN '["x"]' END, now(), now(), CASE n WHEN 3 THEN now() END
                FROM generate_series(1, 23) AS n
                """
            _ = try await servers.owner.run(Statement(sql))
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let answer = await prompt.run(Self.user)
                #expect(answer.code == .done, "a user with a topic is known: \(answer.complaints)")
                let flat = answer.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                let first =
                    "Topics that the user follows venue:23, muted venue:01, as owner venue:02, some devices only "
                #expect(flat.contains(first + "venue:04"), "\(answer.output)")
                #expect(flat.contains("venue:20 and 2 more"), "\(answer.output)")
                let json = await prompt.run(Self.user + ["--json"]).output
                let start =
                    #""follows":{"count":22,"isCapped":false,"topics":[{"topic":"venue:23","muted":true,"role":null,"#
                #expect(json.contains(start), "\(json)")
            }
        }
    }

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
                INSERT INTO holds (app, type, provider, operator, because) VALUES ('drop', '', 'expo', 'bo', 'incident 4711');
                INSERT INTO notification_preferences (app, profile_id, preferences, source_time)
                VALUES ('drop', 'ada', '{"eventToggles": {"system": false, "security": true, "promotional": false}}', now())
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
                    "User ada of drop", "by the user's clock", "types off: promotional, system",
                    "ios through expo (sub_0000000000000001), ended",
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

    @Test("the command of each dead letter names one item, although both ids begin alike")
    func similarIDs() async throws {
        try await ServerFixture.withSchema { servers in
            let ids = ["1", "2"].map { "6b918a30a101bbb36b918a30a101bbb3-\($0)" }
            let letters = ids.map { DeadLetterSamples.rejected($0, reason: "invalid-field", user: "ada") }
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let flat = await prompt.run(Self.user).output.split(whereSeparator: \.isWhitespace).joined(
                    separator: " "
                )
                for id in ids {
                    #expect(flat.contains("(bellhop dead-letters show \(id))"), "\(flat)")
                    let shown = await prompt.run("dead-letters", "show", id)
                    #expect(shown.code == .done, "\(shown.complaints)")
                }
                let short = await prompt.run("dead-letters", "show", "6b918a30a101bbb3")
                #expect(short.complaints.contains("give more characters"), "\(short.complaints)")
            }
        }
    }

    @Test("events for the user that are stored for later are listed, the next one first, and no others")
    func kept() async throws {
        try await ServerFixture.withSchema { servers in
            let sql = """
                INSERT INTO events (app, id, content, planned_at, cancelled_at, expanded_at)
                SELECT 'drop', id, jsonb_build_object('eventType', 'system', 'to', jsonb_build_object('users', users)),
                       now() + days * interval '1 day', cancelled, expanded
                FROM (VALUES ('third', 3, '["bo", "ada"]'::jsonb, NULL::timestamptz, NULL::timestamptz),
                             ('first', 1, '["ada"]', NULL, NULL), ('others', 1, '["bo"]', NULL, NULL),
                             ('cancelled', 1, '["ada"]', now(), NULL), ('expanded', 1, '["ada"]', NULL, now()))
                    AS v (id, days, users, cancelled, expanded)
                """
            _ = try await servers.owner.run(Statement(sql))
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let answer = await prompt.run(Self.user)
                #expect(answer.code == .done, "an event for later is known about the user")
                let lines = answer.output.split(separator: "\n").filter { $0.contains(", event ") }
                #expect(lines.count == 2, "\(answer.output)")
                #expect(lines.first?.hasSuffix("system, event first") == true, "\(answer.output)")
                #expect(lines.last?.hasSuffix("system, event third") == true, "\(answer.output)")
                let json = await prompt.run(Self.user + ["--json"]).output
                #expect(json.contains(#""kept":[{"eventId":"first","eventType":"system","dueAt":"#), "\(json)")
            }
        }
    }

    @Test("without an app, the only app that has data of the user is used and named; several are listed in the error")
    func withoutApp() async throws {
        try await ServerFixture.withSchema { servers in
            let added = """
                INSERT INTO recipients (app, user_id, source_time)
                VALUES ('drop', 'ada', now()), ('drop', 'bo', now()), ('padel', 'bo', now()), ('drop', 'ad', now())
                """
            _ = try await servers.owner.run(Statement(added))
            let many = """
                INSERT INTO recipients (app, user_id, source_time) SELECT 'app-' || n, 'eva', now()
                FROM generate_series(10, 34) AS n
                """
            _ = try await servers.owner.run(Statement(many))
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let one = await prompt.run("explain", "--user", "ada")
                #expect(one.code == .done)
                #expect(one.output.hasPrefix("User ada of drop\n"), "\(one.output)")
                #expect(one.complaints == "bellhop: only drop has data of user ada, so this is about that app")
                let event = await prompt.run("explain", "--user", "ada", "--event", "e1")
                #expect(event.output.contains("no record of event e1 for ada of drop"), "\(event)")
                let several = await prompt.run("explain", "--user", "bo")
                #expect(several.code == .usage)
                let words = "--app is missing, and several apps have data of user bo: drop, padel; see"
                #expect(several.complaints.contains(words), "\(several.complaints)")
                let none = await prompt.run("explain", "--user", "nobody")
                #expect(none.code == .usage)
                #expect(none.complaints.contains("--app is missing, and no app has data of user nobody"), "\(none)")
                let eva = await prompt.run("explain", "--user", "eva")
                #expect(eva.complaints.contains("app-28, app-29 and others; see"), "\(eva.complaints)")
                let wrong = await prompt.run("explain", "--user", "bo", "noti_1")
                #expect(wrong.complaints.contains("expected the whole id"), "before any look-up: \(wrong.complaints)")
            }
        }
    }

    @Test("an app without a catalogue is reported with the known ones, together with its data if it has any")
    func unknownApp() async throws {
        try await ServerFixture.withSchema { servers in
            let added = "INSERT INTO recipients (app, user_id, source_time) VALUES ('old', 'ada', now())"
            _ = try await servers.owner.run(Statement(added))
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                for number in 1...12 {
                    let app = "app: \"app-\(9 + number)\""
                    let catalog = try ServerFixture.changed("drop", replacing: "app: \"drop\"", with: app)
                    try Data(catalog.utf8).write(to: folder.appendingPathComponent("catalogs/\(number).json5"))
                }
                let known = (10...19).map { "app-\($0)" }.joined(separator: ", ") + " and 3 others."
                let slip = await prompt.run("explain", "--app", "odl", "--user", "ada")
                #expect(slip.code == .answerIsNo)
                #expect(slip.output == "No app \"odl\" is in the catalogues; known: \(known)", "\(slip)")
                let event = await prompt.run("explain", "--app", "odl", "--user", "ada", "--event", "e1")
                #expect(event.output == slip.output)
                let old = await prompt.run("explain", "--app", "old", "--user", "ada", "--json")
                #expect(old.code == .done && old.output.contains(#""found":true"#), "\(old)")
                #expect(old.output.contains(#""unknownApp":"No app \"old\" is in"#), "\(old)")
                let text = await prompt.run("explain", "--app", "old", "--user", "ada")
                #expect(text.output.hasPrefix("User ada of old\n"), "\(text)")
                #expect(text.output.contains("No app \"old\" is in the catalogues"), "\(text)")
                let asked = await prompt.run("explain", "--app", "old", "--user", "ada", "--event", "e1")
                #expect(asked.output.hasPrefix("Bellhop has no record of event e1 for ada of old"), "\(asked)")
                #expect(asked.output.hasSuffix("No app \"old\" is in the catalogues; known: \(known)"), "\(asked)")
            }
        }
    }

    @Test("a silent worker, which may hold events for the user, is named for a known and for an unknown user")
    func silentWorker() async throws {
        try await ServerFixture.withSchema { servers in
            let silent = """
                WITH ada AS (INSERT INTO recipients (app, user_id, source_time) VALUES ('drop', 'ada', now()))
                INSERT INTO processes (id, role, version, host, process, catalogs, started_at, seen_at)
                SELECT role, role, '1', 'h', 7, 'c', now(), now() - interval '100 s'
                FROM unnest('{worker,scheduler}'::text[]) AS r (role)
                """
            _ = try await servers.owner.run(Statement(silent))
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                for user in ["ada", "nobody"] {
                    let answer = await prompt.run("explain", "--app", "drop", "--user", user)
                    let words = answer.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                    let unseen = /Events may be held by worker h\[7\], which has been silent since [-0-9: ]+ UTC, a/
                    #expect(words.contains(unseen), "\(answer)")
                }
                let json = await prompt.run(Self.user + ["--json"])
                #expect(json.output.contains(#""unseen":"Events may be held by worker h[7]"#), "\(json)")
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
                #expect(!answer.output.contains("\n"), "without a terminal it is one line")
                let narrow = await prompt.run(Self.user, columns: 60).output
                let lines = narrow.split(separator: "\n")
                #expect(lines.count > 1 && lines.allSatisfy { $0.count <= 60 }, "\(narrow)")
                let words = narrow.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                #expect(words == answer.output)
            }
        }
    }
}
