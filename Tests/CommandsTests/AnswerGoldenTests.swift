import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Commands

/// The answers of commands with `--json`, their exit codes and their errors, as printed.
@Suite("Answers for scripts, unchanged")
struct AnswerGoldenTests {
    @Test("commands without servers answer as stored")
    func offline() async throws {
        try await CommandFolder.withPrompt { prompt, folder in
            var session = Transcript(prompt, masking: [folder.path: "folder"])
            let event = #"{"id":"e1","app":"drop","eventType":"security","to":{"user":"ada"},"data":{}}"#
            await session.run("validate", "--json", "-", input: event)
            await session.run("validate", "--json", "-", input: "{")
            await session.run("validate", "-", input: event)
            await session.run(
                "quiet",
                "--timezone",
                "Europe/Oslo",
                "--start",
                "22",
                "--end",
                "7",
                "--at",
                "2026-03-28T23:30:00Z",
                "--json"
            )
            await session.run(
                "next-run",
                "--timezone",
                "Europe/Oslo",
                "--local",
                "02:30",
                "--after",
                "2026-03-28T12:00:00Z",
                "--json"
            )
            await session.run("check-config", "--json")
            await session.run("publish", "--json", "-", input: "{")
            await session.run("status", "--json")
            await session.run("nosuch")
            await session.run("status", "--nosuch")
            try session.check("offline")
        }
    }

    @Test(
        "dead-letter commands answer as stored",
        .limitedConcurrency,
        .enabled(if: BothServers.isThere, BothServers.absence)
    )
    func deadLetters() async throws {
        let body = #"{"id":"e1","eventType":"system","to":{"user":"ada"},"title":"T","data":{"amount":"1"}}"#
        let letters = [
            DeadLetterSamples.rejected("a-letter", failedAt: DeadLetterSamples.ago(300)),
            DeadLetterSamples.rejected(
                "b-letter",
                reason: "missing-id",
                user: "ada",
                failedAt: DeadLetterSamples.ago(200),
                body: body
            ),
        ]
        try await DeadLetterPrompt.with(letters) { prompt, _ in
            var session = Transcript(prompt)
            let reason = ["--because", "a test"]
            await session.run("dead-letters", "groups", "--json")
            await session.run("dead-letters", "list", "--json")
            await session.run("dead-letters", "list", "--reason", "nosuch", "--json")
            await session.run("dead-letters", "show", "a-letter", "--json")
            await session.run("dead-letters", "show", "b-letter", "--json")
            await session.run("dead-letters", "show", "nosuch", "--json")
            await session.run("dead-letters", "replay", "b-letter", "--dry-run", "--json")
            await session.run("dead-letters", "discard", "a-letter", "--yes", "--json", reason[0], reason[1])
            await session.run("dead-letters", "discard", "a-letter", "--yes", "--json", reason[0], reason[1])
            await session.run("dead-letters", "undo", "1", "--yes", "--json", reason[0], reason[1])
            await session.run("dead-letters", "audit", "--json")
            await session.run("dead-letters", "replays", "--json")
            await session.run("dead-letters", "discard", "a-letter")
            try session.check("dead-letters")
        }
    }

    @Test(
        "fan-out and hold commands answer as stored",
        .limitedConcurrency,
        .enabled(if: BothServers.isThere, BothServers.absence)
    )
    func fanoutsAndHolds() async throws {
        try await DeadLetterPrompt.with([]) { prompt, servers in
            try await servers.addFollowers(100)
            let number = try await servers.addFanout("e1", users: 60, plannedTo: "u00060", planned: [true])
            var session = Transcript(prompt)
            let reason = ["--because", "a test"]
            await session.run("fanouts", "list", "--json")
            await session.run("fanouts", "show", "\(number)", "--json")
            await session.run("fanouts", "pause", "\(number)", "--yes", "--json", reason[0], reason[1])
            await session.run("fanouts", "show", "--event", "e1", "--json")
            await session.run("fanouts", "resume", "\(number)", "--yes", "--json", reason[0], reason[1])
            await session.run("fanouts", "cancel", "\(number)", "--yes", "--json", reason[0], reason[1])
            await session.run("fanouts", "resume", "\(number)", "--yes", "--json", reason[0], reason[1])
            await session.run("fanouts", "show", "4711", "--json")
            await session.run("hold", "list", "--json")
            await session.run("hold", "add", "--app", "drop", "--json", reason[0], reason[1])
            await session.run("hold", "list", "--json")
            await session.run("hold", "release", "1", "--json", reason[0], reason[1])
            await session.run("hold", "release", "1", "--json", reason[0], reason[1])
            try session.check("fanouts-and-holds")
        }
    }

    @Test(
        "explain and status answer as stored",
        .limitedConcurrency,
        .enabled(if: BothServers.isThere, BothServers.absence)
    )
    func state() async throws {
        try await DeadLetterPrompt.with([]) { prompt, servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority) VALUES
                    ('drop', 'ada', 'noti_0000000000000001', 'e9', '', 'security', 'T', 'B', 'high')
                """
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason) VALUES
                    ('drop', 'ada', 'noti_0000000000000001', 'push', '-', 'suppressed', 'no-device')
                """
            )
            var session = Transcript(prompt)
            await session.run("explain", "--app", "drop", "--user", "ada", "noti_0000000000000001", "--json")
            await session.run("explain", "--app", "drop", "--user", "ada", "noti_0000000000000001")
            await session.run("explain", "--app", "drop", "--user", "ada", "--event", "nosuch", "--json")
            await session.run("revoke-stale", "--app", "drop", "--days", "30", "--json")
            await session.run("migrate", "--check")
            try session.check("explain")
        }
    }
}
