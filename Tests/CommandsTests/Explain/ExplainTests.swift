import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Commands
@testable import Operations

@Suite(
    "bellhop explain",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ExplainTests {
    /// Runs the command on a schema that contains ada and the test's rows.
    private func ask(
        _ words: String...,
        after sql: String = "",
        _ check: (Prompt.Answer) async throws -> Void
    ) async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute("\(Self.ada) \(sql)")
            }
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                try await check(await prompt.run(["explain", "--app", "drop", "--user", "ada"] + words))
            }
        }
    }

    private static let ada = """
        INSERT INTO recipients (app, user_id, locale, timezone, email, source_time, updated_at) VALUES
            ('drop', 'ada', 'nb', 'Europe/Oslo', 'ada@example.com', '2026-01-01', '2026-01-01');
        INSERT INTO notification_preferences VALUES
            ('drop', 'ada', '{"enabled": true, "eventToggles": {"qr_payment": false}}', '2026-01-01', '2026-01-01');
        INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, permission,
            registered_at, last_seen_at, source_time, revoked_at, revoke_reason) VALUES
            ('drop', 'ada', 'sub_00000000000000fa', 'ios', 'expo', 'the-secret-token', 'granted', '2026-01-01', '2026-01-01',
             '2026-01-01', NULL, NULL),
            ('drop', 'ada', 'sub_00000000000000fd', 'android', 'expo', 'another-secret', 'granted', '2025-01-01', '2025-01-01',
             '2026-01-01', '2025-06-01', 'UNREGISTERED');
        """

    private static func notification(
        _ number: Int,
        _ type: String = "transaction_complete",
        extras: String = "{}",
        createdAt: String = "2026-03-01T10:00:00Z",
        readAt: String = "NULL"
    ) -> String {
        """
        INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority, extras,
            created_at, read_at) VALUES ('drop', 'ada', 'noti_000000000000000\(number)', 'e\(number)', '\\x00',
            '\(type)', 'Tittel \(number)', '', 'normal', '\(extras)', '\(createdAt)', \(readAt));
        """
    }

    private static func line(
        _ number: Int,
        _ columns: String,
        _ values: String,
        target: String = "sub_00000000000000fa"
    ) -> String {
        """
        INSERT INTO deliveries (app, user_id, notification_id, channel, target, updated_at, \(columns)) VALUES
            ('drop', 'ada', 'noti_000000000000000\(number)', 'push', '\(target)', '2026-03-01T10:00:01Z', \(values));
        """
    }

    @Test("a delivery in a backlog is shown with the backlog, its time and the reason")
    func backlog() async throws {
        let columns = "state, reason, outlet, queued_at"
        let values = "'deferred', 'window-full', 'drop/expo', '2026-03-01T10:00:00Z'"
        let line = Self.line(1, columns, values)
        try await ask("noti_0000000000000001", after: Self.notification(1) + line) { answer in
            expect(
                answer,
                "waits in the backlog of drop/expo since 2026-03-01 10:00:01 UTC (11:00), with its turn from 2026-03-01 "
                    + "10:00:00 UTC",
                "the provider has no capacity for it yet, or its budget is used up (window-full)"
            )
        }
    }

    @Test("a topic's notification shows the user's follow: role, mute, or its end")
    func follow() async throws {
        let row = Self.notification(1, extras: #"{"topic": "venue:1"}"#)
        func follow(_ columns: String, _ values: String) -> String {
            "INSERT INTO follows (app, topic, user_id, since, source_time, \(columns)) "
                + "VALUES ('drop', 'venue:1', 'ada', '2026-02-01T10:00:00Z', now(), \(values));"
        }
        try await ask("noti_0000000000000001", after: row + follow("role, muted", "'owner', true")) { answer in
            expect(
                answer,
                "How the user follows venue:1 now",
                "since 2026-02-01 10:00:00 UTC",
                "as owner",
                "with all devices",
                "the user muted this topic"
            )
        }
        let ended = follow("removed_at", "'2026-02-02T10:00:00Z'")
        try await ask("noti_0000000000000001", "--json", after: row + ended) { answer in
            #expect(answer.output.contains("unfollowed"))
            #expect(answer.output.contains("venue:1"))
        }
        try await ask("noti_0000000000000001", after: row) { answer in
            expect(answer, "no follow is stored")
        }
    }

    private func expect(_ answer: Prompt.Answer, _ parts: String..., place: SourceLocation = #_sourceLocation) {
        #expect(answer.code == .done, "\(answer.complaints)", sourceLocation: place)
        // Words may be on separate lines.
        let text = answer.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for part in parts { #expect(text.contains(part), "\(part)\n\(answer.output)", sourceLocation: place) }
        #expect(!answer.output.contains("secret") && !answer.output.contains("@example"), sourceLocation: place)
        #expect(answer.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, sourceLocation: place)
    }

    @Test("a delivered push shows its device, its attempts and the provider's message id")
    func delivered() async throws {
        let line = Self.line(
            1,
            "state, attempts, unknown_sends, provider_message_id",
            "'delivered', 3, 2, 'projects/x/messages/17'"
        )
        try await ask("noti_0000000000000001", after: Self.notification(1) + line) { answer in
            expect(
                answer,
                "noti_0000000000000001, transaction_complete, priority normal",
                #""Tittel 1""#,
                "event e1 for ada",
                "In the app since 2026-03-01 10:00:00 UTC (11:00), not read.",
                "Push to ios through expo (sub_00000000000000fa): delivered, as projects/x/messages/17; 3 attempts; 2 sends without",
                "2026-03-01 10:00:00 (11:00) recorded in the app",
                "android through expo (sub_00000000000000fd), ended 2025-06-01 00:00:00 UTC (02:00): UNREGISTERED",
                "quiet-hours send not quiet"
            )
        }
    }

    @Test("a discarded delivery with one send without an answer may have arrived, and not more than once")
    func discardedAfterSend() async throws {
        let line = Self.line(1, "state, reason, unknown_sends", "'suppressed', 'discarded', 1")
        try await ask("noti_0000000000000001", after: Self.notification(1) + line) { answer in
            expect(
                answer,
                "not sent: an operator discarded it",
                "; one send without an answer, so the device may have got it"
            )
            #expect(!answer.output.contains("more than"), "\(answer.output)")
        }
    }

    @Test("a delivery deferred for quiet hours shows its end in UTC and local time, and today's decision")
    func waiting() async throws {
        let line = Self.line(
            1,
            "state, reason, due_at, decision",
            #"'deferred', 'quiet-hours', '2099-03-02T06:00:00Z', '{"until": "2099-03-02T06:00:00.000Z"}'"#
        )
        let read = Self.notification(1, readAt: "'2026-03-01T10:05:00Z'")
        try await ask("--event", "e1", "noti_0000000000000001") { #expect($0.code == .usage) }
        try await ask("noti_0000000000000001", after: read + line) { answer in
            expect(
                answer,
                "waits for the end of the user's quiet hours, 2099-03-02 06:00:00 UTC (07:00); they are off by now",
                "read at 2026-03-01 10:05:00 UTC (11:05)",
                "By the present settings, nothing more of it will be sent: suppressed: the user had read it in the app",
                "Still ahead 2099-03-02 06:00:00 (07:00) evaluated again: push to ios"
            )
        }
    }

    @Test("a paused user's waiting push and settings show the end of the pause on the user's clock")
    func paused() async throws {
        let line = Self.line(1, "state, reason, due_at", "'deferred', 'paused', '2099-03-02T06:00:00Z'")
        let document = #"{"pausedUntil": "2099-03-02T06:00:00.000Z"}"#
        let pause = "UPDATE notification_preferences SET preferences = '\(document)';"
        try await ask("noti_0000000000000001", after: Self.notification(1) + line + pause) { answer in
            expect(
                answer,
                "waits for the end of the user's pause, 2099-03-02 06:00:00 UTC (07:00)",
                "paused until 2099-03-02 07:00 +01:00, which is 2099-03-02T06:00:00.000Z",
                "pause wait paused until 2099-03-02T06:00:00.000Z; ios devices: defer"
            )
        }
    }

    @Test("a wait for quiet hours that the user has turned off meanwhile keeps its end, and the explanation states it")
    func quietHoursTurnedOff() async throws {
        let columns = "state, reason, due_at"
        let line = Self.line(1, columns, "'deferred', 'quiet-hours', '2099-03-02T06:00:00Z'")
        func hours(_ enabled: Bool) -> String {
            let hours = #"{"quietHours": {"enabled": \#(enabled), "startHour": 22, "endHour": 7}}"#
            return "UPDATE notification_preferences SET preferences = '\(hours)';"
        }
        let note = "they are off by now, and the rules run again at that time"
        try await ask("noti_0000000000000001", after: Self.notification(1) + line + hours(false)) { answer in
            expect(answer, "quiet hours, 2099-03-02 06:00:00 UTC (07:00); \(note).")
        }
        try await ask("noti_0000000000000001", after: Self.notification(1) + line + hours(true)) { answer in
            expect(answer, "quiet hours, 2099-03-02 06:00:00 UTC (07:00).")
        }
    }

    @Test("a push that a provider rejected because of its device is explained in words")
    func deviceGone() async throws {
        let line = Self.line(1, "state, reason", "'failed', 'UNREGISTERED'")
        try await ask("noti_0000000000000001", after: Self.notification(1) + line) { answer in
            expect(
                answer,
                "given up: the provider no longer knows the device (UNREGISTERED); the device is active: it was "
                    + "registered again, or restored after a mass failure of the provider",
                "type transaction_complete not set (app default)"
            )
        }
    }

    @Test(
        "a provider's refusal is explained in words",
        arguments: [
            ("failed", "given up", "the provider no longer knows the device", "UNREGISTERED"),
            (
                "retrying", "tried without success",
                "our account at the provider lacks the right, or the service is not enabled there", "PERMISSION_DENIED"
            ),
            ("retrying", "tried without success", "the provider reports an internal fault", "UNAVAILABLE"),
        ]
    )
    func refusal(state: String, status: String, words: String, reason: String) async throws {
        let line = Self.line(1, "state, reason, due_at", "'\(state)', '\(reason)', '2099-03-01T10:00:00Z'")
        try await ask("noti_0000000000000001", after: Self.notification(1) + line) { answer in
            expect(answer, "\(status): \(words) (\(reason))")
        }
    }

    @Test("a delivery in the backlog of a rejecting provider shows the provider's answer in words")
    func openBreaker() async throws {
        let values = "'deferred', 'breaker', 'drop/expo', '2026-03-01T10:00:00Z'"
        let line = Self.line(1, "state, reason, outlet, queued_at", values)
        let breaker = """
            INSERT INTO breakers (app, provider, reason, opened_at, probe_at)
            VALUES ('drop', 'expo', 'UNAUTHORIZED', now(), now());
            """
        try await ask("noti_0000000000000001", after: Self.notification(1) + line + breaker) { answer in
            expect(answer, "; expo answers: the provider rejects our credentials (UNAUTHORIZED)")
        }
    }

    @Test("a delivery that would expire during its wait is distinguished from one that arrived too late")
    func wouldBeTooLate() async throws {
        let row = Self.notification(1, extras: #"{"expiresAt": "2026-03-01T12:00:00.000Z"}"#)
        let line = Self.line(1, "state, reason", "'expired', 'expired-before-sending'")
        try await ask("noti_0000000000000001", after: row + line) { answer in
            expect(
                answer,
                "not sent: it would have been too late by the time that it had to wait for (expired-before-sending).",
                "2026-03-01 12:00:00 (13:00) expires: no longer pushed"
            )
        }
        let late = Self.notification(1, extras: #"{"expiresAt": "2026-03-01T09:00:00.000Z"}"#)
        try await ask("noti_0000000000000001", after: late + line) { answer in
            expect(answer, "not sent: it had already expired when it came (expired-before-sending).")
        }
    }

    @Test("a future expiry is shown for a waiting delivery and not for a delivered one")
    func expiryAhead() async throws {
        let row = Self.notification(1, extras: #"{"expiresAt": "2099-03-01T12:00:00.000Z"}"#)
        let delivered = Self.line(1, "state", "'delivered'")
        try await ask("noti_0000000000000001", after: row + delivered) { answer in
            #expect(!answer.output.contains("Still ahead"))
        }
        let waits = Self.line(1, "state, reason, due_at", "'deferred', 'breaker', '2099-03-01T11:00:00Z'")
        try await ask("noti_0000000000000001", after: row + waits) { answer in
            expect(answer, "2099-03-01 12:00:00 (13:00) expires: no longer pushed")
        }
    }

    @Test("the record precedes its deliveries, even if both were written within the same millisecond")
    func recordFirst() async throws {
        let row = Self.notification(1, createdAt: "2026-03-01T10:00:01.000002Z")
        try await ask("noti_0000000000000001", after: row + Self.line(1, "state", "'delivered'")) { answer in
            expect(answer, "2026-03-01 10:00:01 (11:00) recorded in the app 2026-03-01 10:00:01 (11:00) push to ios")
        }
    }

    @Test("deliveries that were left out of a digest are not counted among its others")
    func leftOutOfDigest() async throws {
        let digest = #"'{"until": "2026-03-02T16:00:00.000Z", "digest": "2026-03-02T16:00:00.000Z"}'"#
        let rows =
            (1...4).map { Self.notification($0) }.joined()
            + Self.line(1, "state, decision", "'delivered', \(digest)")
            + Self.line(2, "state, decision", "'delivered', \(digest)")
            + Self.line(3, "state, reason, decision", "'suppressed', 'superseded', \(digest)")
            + Self.line(4, "state, reason, decision", "'expired', 'expired-while-waiting', \(digest)")
        try await ask("noti_0000000000000001", after: rows) { answer in
            expect(answer, "delivered in the digest of 2026-03-02 16:00:00 UTC (17:00), with one other.")
        }
    }

    @Test("a delivery in a digest shows the number of others, and a superseded one shows its successor")
    func digestAndSuccessor() async throws {
        let digest = #"'{"until": "2099-03-02T16:00:00.000Z", "digest": "2099-03-02T16:00:00.000Z"}'"#
        let waits = "'deferred', 'digest', '2099-03-02T16:00:00Z', \(digest)"
        let columns = "state, reason, due_at, decision"
        let rows =
            Self.notification(1, extras: #"{"collapseKey": "k"}"#)
            + Self.notification(2, extras: #"{"collapseKey": "k"}"#, createdAt: "2026-03-01T11:00:00Z")
            + Self.notification(3) + Self.line(1, columns, waits) + Self.line(2, columns, waits)
            + Self.line(3, columns, waits)
        try await ask("noti_0000000000000001", after: rows) { answer in
            expect(
                answer,
                "is gathered for the digest of 2099-03-02 16:00:00 UTC (17:00), with 2 others.",
                "noti_0000000000000002, with the same collapse key, has taken its place.",
                "2026-03-01 11:00:00 (12:00) noti_0000000000000002 took its place",
                "superseded suppress"
            )
        }
        try await ask("noti_0000000000000002", after: rows) { answer in
            #expect(!answer.output.contains("taken its place"))
        }
    }

    private static let withheld: [(String, String)] =
        SuppressionReason.allCases.map { ($0.rawValue, "suppressed") } + [
            ("expired-before-sending", "expired"), ("expired-while-waiting", "expired"),
            ("attempts-exhausted", "failed"), ("payload-refused", "failed"),
        ]

    @Test("every reason to withhold a push is explained in words", arguments: withheld)
    func reasons(reason: String, state: String) async throws {
        let line = Self.line(1, "state, reason", "'\(state)', '\(reason)'", target: "-")
        try await ask("noti_0000000000000001", after: Self.notification(1) + line) { answer in
            // The user of these tests has a device now.
            let since = reason == "no-device" ? " when the rules decided; one is registered now" : ""
            let words = Explanation.words(of: reason) + since
            expect(answer, "Push: \(state == "failed" ? "given up" : "not sent"): \(words).", "(\(reason))")
        }
    }

    @Test("every state of a delivery is explained", arguments: DeliveryState.allCases)
    func states(state: DeliveryState) async throws {
        let line = Self.line(1, "state, reason, due_at", "'\(state.rawValue)', 'UNAVAILABLE', '2099-01-01T00:00:00Z'")
        try await ask("noti_0000000000000001", after: Self.notification(1) + line) { answer in
            expect(
                answer,
                "Push to ios through expo (sub_00000000000000fa):",
                "(sub_00000000000000fa): \(state.rawValue), UNAVAILABLE"
            )
            #expect(!answer.output.contains("does not know"))
        }
    }

    @Test("settings changed after the notification are marked, since they did not apply then")
    func changedSince() async throws {
        let later = "UPDATE notification_preferences SET updated_at = '2026-03-01T12:00:00Z'"
        try await ask("noti_0000000000000001", after: Self.notification(1, "qr_payment") + later) { answer in
            expect(
                answer,
                "2026-03-01 12:00:00 UTC (13:00): after the notification was recorded",
                "qr_payment off",
                "type suppress off, by the user's preferences",
                "No push or e-mail was planned."
            )
            #expect(answer.output.components(separatedBy: "after the notification").count == 2)
        }
    }

    @Test("an e-mail that was not planned is explained if the rules would send one")
    func unplannedMail() async throws {
        let row = Self.notification(1, "security")
        let words = "E-mail: none was planned, although the rules would send one now"
        try await ask("noti_0000000000000001", after: row) { answer in
            expect(answer, words, "no mail relay for drop")
        }
        let mail = Self.line(1, "state", "'delivered'", target: "email")
            .replacingOccurrences(of: "'push', 'email'", with: "'email', 'email'")
        try await ask("noti_0000000000000001", after: row + mail) { answer in
            #expect(!answer.output.contains(words), "\(answer.output)")
        }
    }

    @Test("a title cannot control the terminal")
    func controls() async throws {
        let title = "UPDATE notifications SET title = E'one\\ntwo \\033[31mred'"
        try await ask("noti_0000000000000001", after: Self.notification(1) + title) { answer in
            expect(answer, #""one two \u001b[31mred""#)
            #expect(!answer.output.unicodeScalars.contains("\u{1B}"))
        }
    }

    @Test("the ledger is explained without catalogues, and for a type that no longer exists")
    func noCatalogue() async throws {
        try await ask("noti_0000000000000001", after: Self.notification(1, "gone_type")) { answer in
            expect(answer, "The rules are not asked: the catalogue does not know gone_type")
        }
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var prompt = prompt
                prompt.environment["BELLHOP_CATALOGS"] = nil
                let answer = await prompt.run("explain", "--app", "drop", "--user", "ada", "--event", "e1")
                #expect(answer.code == .answerIsNo)
            }
        }
    }
}
