import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import ServiceRuntime
import TestSupport
import Testing

@testable import Commands
@testable import Store

@Suite(
    "bellhop explain for events without a notification",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ExplainEventTests {
    private func ask(
        _ words: [String] = ["--event", "e1"],
        after sql: String = "SELECT 1",
        _ check: (Prompt.Answer, String) async throws -> Void
    ) async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute(sql)
            }
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let app = words.contains("--app") ? [] : ["--app", "drop"]
                let all = prompt.with("BELLHOP_CATALOGS", Checkout.file("deploy/catalogs").path)
                let shell = words.contains("safe") ? all : prompt
                let answer = await shell.run(["explain"] + app + ["--user", "ada"] + words)
                try await check(answer, answer.output.split(whereSeparator: \.isWhitespace).joined(separator: " "))
            }
        }
    }

    private static func event(
        to audience: String = #"{"users": ["ada"]}"#,
        deliverAt: String? = nil,
        columns: String = "",
        values: String = ""
    ) -> String {
        let later = deliverAt.map { #", "deliverAt": "\#($0)""# } ?? ""
        return """
            INSERT INTO events (app, id, content, planned_at, created_at\(columns)) VALUES ('drop', 'e1',
                '{"id": "e1", "app": "drop", "eventType": "security", "to": \(audience)\(later),
                  "sentAtIso": "2026-03-01T09:59:00.000Z"}',
                '\(deliverAt ?? "2026-03-01T10:00:00Z")', '2026-03-01T10:00:00Z'\(values))
            """
    }

    private static func fanout(_ state: String) -> String {
        """
        ; INSERT INTO fanouts (app, event_id, type, urgency, state, started_at, finished_at) VALUES ('drop', 'e1', 'security',
            0, '\(state)', '2026-03-02T10:00:00Z', '2026-03-02T10:01:00Z')
        """
    }

    @Test(
        "a stored event shows its audience, its time and its next step",
        arguments: [
            (
                event(deliverAt: "2099-12-24T16:00:00.000Z"),
                "It is kept for later: it is due at 2099-12-24 16:00:00 UTC"
            ),
            (event(deliverAt: "2026-03-02T10:00:00.000Z"), "It is due, and not published yet: does a scheduler run?"),
            (event(to: #"{"topic": "venue:42"}"#), "It waits to be expanded to the followers of venue:42."),
            (event(to: #"{"everyone": true}"#), "It waits to be expanded to every user of the app."),
            (
                event(to: #"{"users": ["bo", "cleo"]}"#, deliverAt: "2099-12-24T16:00:00.000Z"),
                "It is for 2 users, and this user is not among them."
            ),
            (
                event(to: #"{"topic": "venue:42"}"#) + fanout("running"),
                "Its fan-out to the followers of venue:42 began at 2026-03-02 10:00:00 UTC (11:00) and is in progress"
            ),
            (
                event(to: #"{"everyone": true}"#) + fanout("paused"),
                "and is paused: see bellhop fanouts; ada does not belong to everyone"
            ),
            (
                event(to: #"{"topic": "venue:42"}"#) + fanout("finished"),
                "was finished at 2026-03-02 10:01:00 UTC (11:01): ada does not follow venue:42."
            ),
            (event(to: #"{"everyone": true}"#) + fanout("finished"), "(11:01): ada does not belong to everyone"),
            (
                event(columns: ", expanded_at", values: ", '2026-03-02T10:00:01Z'"),
                "It was published at 2026-03-02 10:00:01 UTC (11:00), and is not recorded for this user"
            ),
            (
                event(
                    deliverAt: "2099-12-24T16:00:00.000Z",
                    columns: ", cancelled_at",
                    values: ", '2026-03-02T10:00:00Z'"
                ),
                "Its producer took it back at 2026-03-02 10:00:00 UTC (11:00): it reaches no user."
            ),
            (
                "INSERT INTO events (app, id, cancelled_at) VALUES ('drop', 'e1', '2026-03-02T10:00:00Z')",
                "took it back at 2026-03-02 10:00:00 UTC (11:00), before it arrived: it reaches no user."
            ),
        ]
    )
    func kept(sql: String, says: String) async throws {
        try await ask(after: sql) { answer, text in
            #expect(answer.code == .done)
            #expect(text.contains(says), "\(answer.output)")
            #expect(text.contains("The rules are not asked: nothing is recorded for the user"))
        }
    }

    private static func follow(at followedAt: String, removedAt: String = "NULL") -> String {
        """
        ; INSERT INTO follows (app, topic, user_id, since, followed_at, removed_at, source_time)
          VALUES ('drop', 'venue:42', 'ada', now(), '\(followedAt)', \(removedAt), now())
        """
    }

    private static func recipient(_ user: String, at recordedAt: String) -> String {
        """
        ; INSERT INTO recipients (app, user_id, source_time, recorded_at)
          VALUES ('drop', '\(user)', now(), '\(recordedAt)')
        """
    }

    private static let devices = """
        ; INSERT INTO push_subscriptions (app, profile_id, id, device_token, platform, provider, registered_at,
            last_seen_at, source_time)
          SELECT 'drop', user_id, 'sub_' || lpad(n::text, 16, '0'), 't' || n, 'ios', 'expo', now(), now(), now()
          FROM unnest('{bo,bo,cleo,dora}'::text[]) WITH ORDINALITY AS u (user_id, n)
        """

    @Test(
        "an ended fan-out that did not reach the user shows whether the user was in its audience",
        arguments: [
            (
                #"{"topic": "venue:42"}"#, follow(at: "2026-03-02T10:00:30Z"),
                "ada follows venue:42 only since 2026-03-02 10:00:30 UTC (11:00)."
            ),
            (
                #"{"topic": "venue:42"}"#, follow(at: "2026-03-01T10:00:00Z", removedAt: "'2026-03-02T09:00:00Z'"),
                "ada has not followed venue:42 since 2026-03-02 09:00:00 UTC (10:00)."
            ),
            (
                #"{"topic": "venue:42"}"#, follow(at: "2026-03-01T10:00:00Z"),
                "ada followed venue:42 then, so that a rule excluded ada, or the notification was deleted since."
            ),
            (
                #"{"everyone": true}"#, recipient("bo", at: "2026-03-01T10:00:00Z") + devices,
                "ada does not belong to everyone, because no recipient.upserted about ada has arrived (everyone in drop "
                    + "is 1 user now, each with a stored recipient.upserted; 2 other users with a device have none)."
            ),
            (
                #"{"everyone": true}"#, recipient("ada", at: "2026-03-02T10:00:30Z"),
                "ada was unknown then, because the first recipient.upserted arrived at 2026-03-02 10:00:30 UTC (11:00)."
            ),
            (
                #"{"everyone": true}"#, recipient("ada", at: "2026-03-01T10:00:00Z"),
                "ada was known then, so that a rule excluded ada, or the notification was deleted since."
            ),
        ]
    )
    func audience(to audience: String, sql: String, says: String) async throws {
        try await ask(after: Self.event(to: audience) + Self.fanout("finished") + sql) { answer, text in
            #expect(text.contains("was finished at 2026-03-02 10:01:00 UTC (11:01): \(says)"), "\(answer.output)")
        }
    }

    @Test("a notification that was recorded long after its producer sent it shows the delay")
    func delay() async throws {
        let sql = """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority) VALUES
                ('drop', 'ada', 'noti_0000000000000001', 'e9', '\\x00', 'security', 'T', '', 'high');
            UPDATE inbox SET created_at = '2026-03-01T10:01:00Z', said_at = '2026-03-01T10:00:00Z'
            """
        try await ask(["noti_0000000000000001"], after: sql) { answer, text in
            let late = "Its producer sent it at 2026-03-01 10:00:00 UTC (11:00), and it was recorded 60 s later."
            #expect(text.contains(late), "\(answer.output)")
            let moment = "2026-03-01 10:00:00 (11:00) the producer says it sent the event"
            #expect(text.contains(moment), "\(answer.output)")
        }
        try await ask(["noti_0000000000000001"], after: sql.replacing("10:01:00", with: "10:00:02")) { answer, text in
            #expect(!text.contains("Its producer sent it"), "\(answer.output)")
        }
    }

    @Test(
        "the rules are announced for later only if the event may still reach the user",
        arguments: [
            (event(to: #"{"everyone": true}"#) + fanout("cancelled"), false),
            (event(to: #"{"users": ["bo"]}"#, deliverAt: "2099-12-24T16:00:00.000Z"), false),
            (event(columns: ", cancelled_at", values: ", '2026-03-02T10:00:00Z'"), false),
            (event(deliverAt: "2099-12-24T16:00:00.000Z"), true),
        ]
    )
    func mayComeLater(sql: String, isAwaited: Bool) async throws {
        try await ask(after: sql) { answer, text in
            #expect(text.contains("nothing is recorded for the user yet") == isAwaited, "\(answer.output)")
        }
    }

    @Test("an event that passed a follower by is explained by the rules, with the role of the follow")
    func passedBy() async throws {
        let event = Self.event(to: #"{"topic": "safe:1:0xa1"}"#) + Self.fanout("finished")
        let request = event.replacing("'drop'", with: "'safe'").replacing(
            "\"app\": \"drop\"",
            with: "\"app\": \"safe\""
        )
        .replacing("security", with: "CONFIRMATION_REQUEST")
        func follow(_ role: String, _ removedAt: String = "NULL") -> String {
            """
            ; INSERT INTO follows (app, topic, user_id, since, source_time, role, removed_at)
            VALUES ('safe', 'safe:1:0xa1', 'ada', '2026-02-01T10:00:00Z', now(), \(role), \(removedAt))
            """
        }
        let stories = [
            (
                follow("'observer'"),
                "it is for followers in another role (not-addressed); the user follows as observer.",
                "not-addressed"
            ),
            (follow("NULL"), "(not-addressed); the user follows as a plain follower.", "not-addressed"),
            (follow("'owner'"), "By the present settings, the rules would keep it: see what has changed since.", nil),
            (follow("'owner'", "now()"), "(unfollowed); the user no longer follows the topic.", "unfollowed"),
        ]
        for (follow, says, reason) in stories {
            try await ask(["--app", "safe", "--event", "e1"], after: request + follow) { answer, text in
                #expect(answer.code == .done)
                #expect(text.contains(says), "\(answer.output)")
                #expect(text.contains("How the user follows safe:1:0xa1 now"), "\(answer.output)")
                #expect(text.contains("The rules, if they were asked now"), "\(answer.output)")
            }
            try await ask(["--app", "safe", "--event", "e1", "--json"], after: request + follow) { answer, _ in
                let report = try JSONDecoder().decode(Report.self, from: Data(answer.output.utf8))
                #expect(report.now?.inApp == (reason == nil))
                #expect(report.follow?.topic == "safe:1:0xa1")
                if let reason { #expect(report.now?.push?.reason == reason) }
            }
        }
    }

    @Test("the rules are not asked for a user who never followed the event's topic")
    func neverFollowed() async throws {
        let event = Self.event(to: #"{"topic": "venue:42"}"#) + Self.fanout("finished")
        try await ask(after: event) { answer, text in
            #expect(text.contains("How the user follows venue:42 now no follow is stored"), "\(answer.output)")
            #expect(text.contains("The rules are not asked: nothing is recorded for the user"), "\(answer.output)")
        }
    }

    /// Corrects a dead letter as `dead-letters edit` does; the copy's id precedes the original's.
    private static func correction(state: String, resolution: String = "NULL", stage: String = "desk") -> String {
        """
        \(letter(user: "'ada'", state: "resolved"))
        UPDATE dead_letters SET dead_id = 'original', resolution = 'edited: edit-9', copies = 1;
        \(letter(user: "'ada'", state: state))
        UPDATE dead_letters SET dead_id = 'edit-9', stage = '\(stage)', error = 'the corrected copy of original',
            pointer = NULL, copies = 1, edited_from = 'original', resolution = \(resolution),
            filed_at = now() + interval '1 s', last_failed_at = '2026-03-01T11:00:00Z', deaths = CASE '\(stage)' WHEN 'desk' THEN 1 ELSE 2 END
        WHERE dead_id <> 'original';
        """
    }

    @Test(
        "a corrected copy is not described as another failure, and names its original",
        arguments: [
            ("replaying", "NULL", "and the corrected copy edit-9 is being sent."),
            ("resolved", "'recorded for 1 user'", "and the corrected copy edit-9 was sent: recorded for 1 user."),
            ("open", "NULL", "and the corrected copy edit-9 is not sent: see bellhop dead-letters show edit-9."),
            ("discarded", "NULL", "and the corrected copy edit-9 was discarded."),
        ]
    )
    func correctedCopy(state: String, resolution: String, words: String) async throws {
        try await ask(after: Self.correction(state: state, resolution: resolution)) { answer, text in
            #expect(text.contains("Its dead letter original was corrected, \(words)"), "\(answer.output)")
            let original = "(resolved by its corrected copy edit-9, original)"
            #expect(text.contains("dead letter: intake, invalid-field at /data/device: "), "\(answer.output)")
            #expect(text.contains(original), "\(answer.output)")
            let copy = "correction: the corrected copy of original (\(state), edit-9)"
            #expect(text.contains(copy), "\(answer.output)")
            #expect(!text.contains("desk"), "\(answer.output)")
            #expect(!text.contains("the last of 2"), "\(answer.output)")
        }
    }

    @Test("a corrected copy that failed is a dead letter that names its original")
    func failedCopy() async throws {
        try await ask(after: Self.correction(state: "open", stage: "record")) { answer, text in
            let failure = "It is in the dead letters (the last of 2): record, invalid-field: "
            #expect(text.contains(failure), "\(answer.output)")
            #expect(text.contains("(open, edit-9, the corrected copy of original)"), "\(answer.output)")
        }
    }

    private static func letter(user: String, state: String = "open", event: String = "'e1'") -> String {
        """
        INSERT INTO dead_letters (dead_id, fingerprint, state, stage, reason, pointer, error, attempts, copies,
            first_failed_at, last_failed_at, origin_exchange, origin_routing_key, properties, headers, body,
            content_hash, app, event_id, user_id) VALUES ('dead-\(UInt64.random(in: 0 ... .max))', 'f', '\(state)',
            'intake', 'invalid-field', '/data/device', 'the template needs this value', 1, 2, '2026-03-01T10:00:00Z',
            '2026-03-01T10:00:00Z', '', '', '{}', '{}', 'the-secret-payload', '', 'drop', \(event), \(user));
        """
    }

    @Test("a rejected event is found in the dead letters, with stage, reason, place and error")
    func refused() async throws {
        try await ask(after: Self.letter(user: "NULL")) { answer, text in
            #expect(answer.code == .done)
            #expect(
                text.contains(
                    "It is in the dead letters: intake, invalid-field at /data/device: the template needs this value "
                        + "(open, seen 2 times, dead-"
                ),
                "\(answer.output)"
            )
            #expect(!text.contains("secret"))
        }
    }

    @Test(
        "a dead letter that is no longer open is not described as a present one",
        arguments: [
            ("replaying", "It is in the dead letters and being replayed: intake"),
            ("resolved", "Its dead letter is resolved: intake"), ("discarded", "Its dead letter was discarded: intake"),
        ]
    )
    func settled(state: String, says: String) async throws {
        try await ask(after: Self.letter(user: "'ada'", state: state)) { answer, text in
            #expect(text.contains(says), "\(answer.output)")
        }
    }

    @Test("a rejected message of the user without a legible id is named, since it may be the event")
    func nameless() async throws {
        let sql = Self.letter(user: "'ada'", event: "NULL") + Self.letter(user: "'bo'", event: "NULL")
        try await ask(after: sql) { answer, text in
            #expect(answer.code == .answerIsNo)
            #expect(
                text.contains(
                    "A rejected message for this user had no legible id and may be it: intake, invalid-field at "
                        + "/data/device: the template needs this value (open, seen 2 times, dead-"
                ),
                "\(answer.output)"
            )
            let list = "see bellhop dead-letters list --app drop --user ada --state all"
            #expect(text.hasSuffix(list), "\(answer.output)")
        }
    }

    @Test("a replayed dead letter and a second message with the same id are described as such")
    func beside() async throws {
        let replayed = Self.letter(user: "'ada'", state: "resolved") + "UPDATE dead_letters SET replays = 1"
        try await ask(after: replayed) { answer, text in
            #expect(text.contains("It was a dead letter and has been replayed: intake"), "\(answer.output)")
        }
        let recorded = """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority) VALUES
                ('drop', 'ada', 'noti_0000000000000001', 'e1', '\\x00', 'security', 'T', '', 'high');
            """
        let conflict = recorded + Self.letter(user: "'ada'") + "UPDATE dead_letters SET reason = 'id-conflict'"
        try await ask(["noti_0000000000000001"], after: conflict) { answer, text in
            let words = "Another message with the same id and other content was rejected: intake, id-conflict"
            #expect(text.contains(words), "\(answer.output)")
            #expect(!text.contains("It is in the dead letters"), "\(answer.output)")
        }
    }

    @Test("the dead letter of another user of the same event is not shown for this user")
    func anothersLetter() async throws {
        try await ask(after: Self.letter(user: "'bo'")) { answer, _ in #expect(answer.code == .answerIsNo) }
        try await ask(after: Self.letter(user: "'ada'") + Self.letter(user: "NULL")) { answer, text in
            #expect(text.contains("(the last of 2)"), "\(answer.output)")
        }
        // The message names several users, of which only hashes are stored.
        let app = try #require(AppID(validating: "drop"))
        for (named, code) in [("ada", ExitCode.done), ("bo", .answerIsNo)] {
            let hash = IdentityHash.recipient(app, try #require(UserID(validating: named)))
            let people = "UPDATE dead_letters SET people = ARRAY['\(hash.hex)', 'another']"
            try await ask(after: Self.letter(user: "NULL") + people) { answer, _ in
                #expect(answer.code == code, "\(answer.output)")
            }
        }
    }

    @Test("an unknown event or notification is reported in one line with exit code 1")
    func unknown() async throws {
        try await ask { answer, _ in
            #expect(answer.code == .answerIsNo)
            #expect(
                answer.output.hasPrefix(
                    "Bellhop has no record of event e1 for ada of drop: it was for other users or for another app"
                )
            )
            #expect(answer.output.contains("or it was rejected (bellhop dead-letters list --event e1)"))
            #expect(!answer.output.contains("\n"))
        }
        try await ask(["noti_00000000000000ff"]) { answer, _ in
            #expect(answer.code == .answerIsNo)
            #expect(answer.output.hasPrefix("noti_00000000000000ff is unknown for ada of drop; use --event"))
            #expect(!answer.output.contains("\n"))
        }
        try await ask(["--app", "dorp", "--event", "e1"]) { answer, _ in
            #expect(answer.code == .answerIsNo)
            #expect(answer.output.hasPrefix("No app \"dorp\" is in the catalogues; known: "), "\(answer.output)")
            #expect(answer.output.contains("drop") && !answer.output.contains("no record"), "\(answer.output)")
        }
        try await ask(["--event", "e1", "--json"]) { answer, _ in
            #expect(answer.code == .answerIsNo)
            #expect(answer.output.contains(#""found":false"#))
        }
    }

    @Test("an event without a record may be held by a worker that is silent, which is named")
    func silentWorker() async throws {
        let silent = """
            INSERT INTO processes (id, role, version, host, process, catalogs, started_at, seen_at)
            SELECT role, role, '1', 'h', 7, 'c', now(), now() - interval '100 s'
            FROM unnest('{worker,scheduler}'::text[]) AS r (role);
            """
        try await ask(after: silent) { answer, _ in
            #expect(answer.code == .answerIsNo)
            let words = /\. It may be held by worker h\[7\], which has been silent since [-0-9: ]+ UTC; it is/
            #expect(answer.output.contains(words), "\(answer.output)")
            #expect(answer.output.hasSuffix("another worker when that one is replaced"), "\(answer.output)")
        }
        try await ask(["noti_00000000000000ff"], after: silent) { answer, _ in
            #expect(!answer.output.contains("held by"), "a notification is recorded: \(answer.output)")
        }
    }

    @Test("an erased user is reported as such, whatever the question is")
    func erased() async throws {
        try await ServerFixture.withSchema { servers in
            guard
                case .feed(let update) = try servers.submission(
                    #"{"app":"drop","eventType":"recipient.deleted","userId":"ada","sentAtIso":"2026-03-01T10:00:00Z"}"#
                )
            else {
                Issue.record("this is not a feed message")
                return
            }
            let entry = FeedEntry(update: update, arrival: Timestamp(clamping: 1_800_000_000_000_000))
            _ = try await WorkerStore(pool: servers.pool).apply([entry])
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                for words in [["--event", "e1"], ["noti_00000000000000ff"]] {
                    let answer = await prompt.run(["explain", "--app", "drop", "--user", "ada"] + words)
                    #expect(answer.code == .done)
                    #expect(answer.output.contains("The user was erased at 2026-03-01 10:00:00 UTC"))
                }
            }
        }
    }

    @Test("the JSON members on which scripts rely are present")
    func json() async throws {
        let sql = Self.event(deliverAt: "2099-12-24T16:00:00.000Z") + ";" + Self.letter(user: "'ada'")
        try await ask(["--event", "e1", "--json"], after: sql) { answer, _ in
            let report = try JSONDecoder().decode(Report.self, from: Data(answer.output.utf8))
            #expect(report.found && report.app == "drop" && report.user == "ada" && report.eventId == "e1")
            #expect(report.notification == nil && report.deliveries.isEmpty && report.now == nil)
            #expect(report.event?.audience == "users")
            #expect(report.event?.deliverAt == "2099-12-24T16:00:00.000Z")
            #expect(report.deadLetters.map(\.reason) == ["invalid-field"])
            #expect(report.timeline.map(\.at) == report.timeline.map(\.at).sorted())
            #expect(report.timeline.last?.local == "2099-12-24 17:00 +01:00")
            #expect(report.settings.pushEnabled && report.settings.devices.isEmpty)
        }
        let recorded = """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority) VALUES
                ('drop', 'ada', 'noti_0000000000000001', 'e9', '\\x00', 'security', 'T', '', 'high');
            INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason) VALUES
                ('drop', 'ada', 'noti_0000000000000001', 'push', '-', 'suppressed', 'no-device')
            """
        try await ask(["noti_0000000000000001", "--json"], after: recorded) { answer, _ in
            let report = try JSONDecoder().decode(Report.self, from: Data(answer.output.utf8))
            #expect(report.notification?.title == "T")
            #expect(report.eventId == "e9")
            #expect(report.deliveries.map(\.state) == ["suppressed"])
            #expect(report.deliveries.first?.reason == "no-device")
            #expect(report.now?.push?.reason == "no-device")
            #expect(report.now?.rules.last?.rule == "devices")
        }
    }

    @Test("a device that was stored after the decision, and a type that is off by default, are named as such")
    func cause() async throws {
        let recorded = """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority) VALUES
                ('drop', 'ada', 'noti_0000000000000001', 'e9', '\\x00', 'promotional', 'T', '', 'low');
            INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason) VALUES
                ('drop', 'ada', 'noti_0000000000000001', 'push', '-', 'suppressed', 'REASON');
            INSERT INTO push_subscriptions (app, profile_id, id, device_token, platform, provider, registered_at,
                last_seen_at, source_time)
            VALUES ('drop', 'ada', 'sub_a000000000000001', 't', 'ios', 'expo', now(), now(), now())
            """
        let choice = """
            ; INSERT INTO notification_preferences (app, profile_id, preferences, source_time)
            VALUES ('drop', 'ada', '{"eventToggles": {"promotional": false}}', now())
            """
        for (reason, further, says) in [
            ("no-device", "", "no registered device (no-device) when the rules decided; one is registered now"),
            ("type-muted", "", "this type is off by the app's default (type-muted)"),
            ("type-muted", choice, "this type is off by the user's setting (type-muted)"),
        ] {
            let sql = recorded.replacing("REASON", with: reason) + further
            try await ask(["noti_0000000000000001"], after: sql) { answer, text in
                #expect(text.contains(says), "\(answer.output)")
            }
        }
    }

    @Test(
        "a command line without a user, or with two subjects, exits with 64",
        arguments: [
            ["noti_1"], ["--event", "e1", "noti_00000000000000ff"], ["--event", ""],
            ["noti_00000000000000ff", "noti_00000000000000ff"],
        ]
    )
    func usage(words: [String]) async {
        let answer = await Prompt().run(["explain", "--app", "drop", "--user", "ada"] + words)
        #expect(answer.code == .usage)
        #expect(await Prompt().run(["explain", "--user", "ada"] + words).code == .usage)
    }

    @Test("an unavailable database exits with 69")
    func noDatabase() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            let prompt = prompt.with("BELLHOP_DATABASE_URL", "postgres://127.0.0.1:1/none")
            let answer = await prompt.run("explain", "--app", "drop", "--user", "ada", "--event", "e1")
            #expect(answer.code == .unavailable)
        }
    }

    private struct Report: Decodable {
        struct Notification: Decodable { let title: String }
        struct Event: Decodable {
            let audience: String?
            let deliverAt: String?
        }
        struct Delivery: Decodable {
            let state: String
            let reason: String?
        }
        struct Letter: Decodable { let reason: String }
        struct Moment: Decodable {
            let at: String
            let local: String?
        }
        struct Settings: Decodable {
            struct Device: Decodable {}
            let pushEnabled: Bool
            let devices: [Device]
        }
        struct Rule: Decodable {
            let rule: String?
            let reason: String?
        }
        struct Follow: Decodable { let topic: String }
        struct Now: Decodable {
            let inApp: Bool
            let push: Rule?
            let rules: [Rule]
        }

        let found: Bool
        let app: String
        let user: String
        let eventId: String?
        let notification: Notification?
        let event: Event?
        let deliveries: [Delivery]
        let deadLetters: [Letter]
        let timeline: [Moment]
        let settings: Settings
        let follow: Follow?
        let now: Now?
    }
}
