import AMQP
import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Pipeline
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import CLI
@testable import Commands

@Suite(
    "Replay commands",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ReplayCommandTests {
    @Test("a dry run predicts the outcome of each item and changes nothing")
    func dryRun() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let good = #"{"id":"g1","to":{"user":"u1"},"title":"t","body":"b"}"#
            let taken = #"{"id":"t1","to":{"user":"u1"},"title":"t","body":"b"}"#
            try await pipeline.publish([pipeline.event(taken, key: "drop.system")])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
            try await DeadLetterFixture.file(
                [("good", good), ("taken", taken), ("bad", "{"), ("other", taken.replacing("\"t\"", with: "\"x\""))],
                on: pipeline
            )
            let answer = await prompt.run("dead-letters", "replay", "--dry-run", "--json")
            #expect(answer.code == .done, "\(answer.complaints)")
            let forecast = try JSONDecoder().decode(DryRunAnswer.self, from: Data(answer.output.utf8))
            let each = Dictionary(uniqueKeysWithValues: forecast.items.map { ($0.id, $0.prediction) })
            #expect(
                each == [
                    "good": "would-record", "taken": "already-recorded", "bad": "invalid-still",
                    "other": "invalid-still",
                ]
            )
            #expect(forecast.count == 4)
            let counted = #"{"prediction":"invalid-still","detail":"id-conflict","count":1}"#
            #expect(answer.output.contains(counted), "\(answer.output)")
            let text = await prompt.run("dead-letters", "replay", "--dry-run")
            #expect(text.output.contains("invalid-still, id-conflict"))
            #expect(text.output.contains("nothing was changed"))
            let open = try await pipeline.servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            let replays = try await pipeline.servers.count("SELECT count(*) FROM replays")
            #expect(open == 4)
            #expect(replays == 0)
        }
    }

    @Test("a dry run names only the backlogs of the apps of which it would send items")
    func backlogs() async throws {
        let audience = #""to":{"topic":"venue:1"}"#
        let event = #"{"id":"e1","app":"drop","eventType":"system",\#(audience),"title":"t","body":"b"}"#
        let letters = [
            DeadLetterSamples.rejected("drop-1", app: "drop", body: event),
            DeadLetterSamples.rejected("venues-1", app: "venues", body: "{"),
        ]
        try await DeadLetterPrompt.with(letters) { prompt, servers in
            let waiting = """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
                SELECT app, 'u', 'n', 'push', 'a', 'deferred', app || '/fcm', now()
                FROM unnest('{drop,venues,daily}'::text[]) AS a (app)
                """
            _ = try await servers.owner.run(Statement(waiting))
            let all = await prompt.run("dead-letters", "replay", "--dry-run").output
            #expect(all.contains("would-fan-out") && all.contains("backlog of drop/fcm"), "\(all)")
            #expect(!all.contains("daily/fcm") && !all.contains("venues/fcm"), "\(all)")
            let one = await prompt.run("dead-letters", "replay", "venues-1", "--dry-run").output
            #expect(one.contains("invalid-still") && !one.contains("backlog"), "\(one)")
        }
    }

    @Test("a dry run with faulty catalogues exits with 78 and names the first fault; the replay itself starts")
    func faultyCatalogs() async throws {
        try await DeadLetterPrompt.with([DeadLetterSamples.rejected("l1")]) { prompt, _ in
            try await CommandFolder.with { folder in
                try Data("{app: 7, nosuch: 1, types: 8}".utf8).write(to: folder.appendingPathComponent("drop.json5"))
                let prompt = prompt.with("BELLHOP_CATALOGS", folder.path)
                let dry = await prompt.run("dead-letters", "replay", "--dry-run")
                #expect(dry.code == .configuration)
                let fault = "replay items: no outcome can be predicted: the catalogues in \(folder.path) have "
                let (line, warning) = ("bellhop: \(fault)", "Warning: \(fault)")
                #expect(dry.complaints.hasPrefix(line), "\(dry.complaints)")
                #expect(dry.complaints.contains("faults, the first: drop.json5:1:"), "\(dry.complaints)")
                let advice = "bellhop check-config lists every fault; a replay"
                #expect(dry.complaints.contains(advice), "\(dry.complaints)")
                #expect(!dry.complaints.contains("\n") && !dry.complaints.contains(#"\n"#), "\(dry.complaints)")
                let edit = ["dead-letters", "edit", "--all", "--set", "/id=e1", "--yes", "--by", "a", "--because", "b"]
                let edited = await prompt.run(edit)
                #expect(edited.code == .configuration)
                #expect(edited.complaints.contains("edit items: the change cannot be checked: the"), "\(edited)")
                let typing = prompt.typing(["1", "the cause is fixed"])
                let begun = await typing.run("dead-letters", "replay", "--all", "--detach")
                #expect(begun.code == .done, "\(begun.complaints)")
                #expect(begun.output.contains(warning), "\(begun.output)")
                #expect(begun.output.contains("Replay 1 has started: 1 item."), "\(begun.output)")
            }
        }
    }

    @Test(
        "watching one replay ends with it, and the exit code shows its outcome",
        arguments: [("done", "recorded", 0), ("done", "failed", 1), ("cancelled", "recorded", 1), ("paused", "", 75)]
    )
    func watched(state: String, outcome: String, code: Int) async throws {
        try await DeadLetterPrompt.with([DeadLetterSamples.rejected("l1")]) { prompt, servers in
            let start = ["dead-letters", "replay", "--all", "--detach", "--yes", "--by", "ada", "--because", "why not"]
            let begun = await prompt.run(start)
            #expect(begun.code == .done, "\(begun.complaints)")
            let end = """
                UPDATE replays SET state = '\(state)', finished_at = CASE '\(state)' WHEN 'paused' THEN NULL ELSE now() END
                """
            _ = try await servers.owner.run(Statement(end))
            let settled = """
                UPDATE replay_items SET state = 'settled', settled_at = now(), outcome = '\(outcome)'
                WHERE '\(outcome)' <> ''
                """
            _ = try await servers.owner.run(Statement(settled))
            let screen = CapturedOutput()
            let shell = CommandEnvironment(environment: prompt.environment, output: screen.screen(width: 120))
            let ended = await CommandLineTool.whole.run(["dead-letters", "replays", "1", "--watch"], shell)
            #expect(Int(ended.rawValue) == code)
            #expect(screen.text.contains("Replay 1 of 1 item by ada"), "\(screen.text)")
        }
    }

    @Test("items that were not sent are listed with their reasons")
    func unsent() async throws {
        let letters = (1...7).map { DeadLetterSamples.rejected("l\($0)", failedAt: DeadLetterSamples.ago(600 - $0)) }
        try await DeadLetterPrompt.with(letters) { prompt, servers in
            let start = ["dead-letters", "replay", "--all", "--detach", "--yes", "--by", "ada", "--because", "why not"]
            let begun = await prompt.run(start)
            #expect(begun.code == .done, "\(begun.complaints)")
            _ = try await servers.owner.run(
                """
                UPDATE replay_items SET state = 'settled', settled_at = now(),
                    outcome = CASE position WHEN 7 THEN 'expired' ELSE 'suppressed' END,
                    detail = CASE position WHEN 7 THEN NULL ELSE 'muted' END
                """
            )
            let shown = await prompt.run("dead-letters", "replays", "1")
            let first = "Not sent, suppressed, muted: 6 (l1, l2, l3, l4, l5, …)"
            #expect(shown.output.contains(first), "\(shown.output)")
            #expect(shown.output.contains("Not sent, expired: 1 (l7)"), "\(shown.output)")
            let json = await prompt.run("dead-letters", "replays", "1", "--json")
            let member =
                #""unsent":[{"outcome":"suppressed","reason":"muted","count":6,"items":["l1","l2","l3","l4","l5"]},"#
            #expect(json.output.contains(member), "\(json.output)")
        }
    }

    @Test("items that wait are listed with their reasons, and with the hold and the command that releases it")
    func deferred() async throws {
        let letters = (1...4).map { DeadLetterSamples.rejected("l\($0)", failedAt: DeadLetterSamples.ago(600 - $0)) }
        try await DeadLetterPrompt.with(letters) { prompt, servers in
            let start = ["dead-letters", "replay", "--all", "--detach", "--yes", "--by", "ada", "--because", "why not"]
            let begun = await prompt.run(start)
            #expect(begun.code == .done, "\(begun.complaints)")
            _ = try await servers.owner.run(
                """
                UPDATE replay_items SET state = 'settled', settled_at = now(), outcome = 'deferred',
                    detail = CASE position WHEN 4 THEN 'quiet-hours' ELSE 'held' END
                """
            )
            let released = await prompt.run("dead-letters", "replays", "1").output
            let late = "Deferred, held: 3; their hold was released since, so they are sent in their turn."
            #expect(released.contains(late), "\(released)")
            let hold =
                "INSERT INTO holds (app, type, provider, operator, because) VALUES ($1, 'system', '', 'ada', 'x')"
            for app in ["venues", "drop"] { _ = try await servers.owner.run(Statement(hold), [.text(app)]) }
            let shown = await prompt.run("dead-letters", "replays", "1").output
            #expect(shown.contains("deferred: waits in the ledger, for the reason below"), "\(shown)")
            let held = "Deferred, held: 3 behind hold 2 (drop, type system); bellhop hold release 2 sends them."
            #expect(shown.contains(held), "\(shown)")
            #expect(shown.contains("Deferred, quiet-hours: 1, sent when due."), "\(shown)")
            let json = await prompt.run("dead-letters", "replays", "1", "--json").output
            let member =
                #""deferred":[{"reason":"held","count":3,"holds":[2]},{"reason":"quiet-hours","count":1,"holds":[]}]"#
            #expect(json.contains(member), "\(json)")
        }
    }

    @Test("a replay requires its typed count, shows progress and outcomes, and exits with 1 if an item failed")
    func replay() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let good = #"{"id":"g1","to":{"user":"u1"},"title":"t","body":"b"}"#
            try await DeadLetterFixture.file([("good", good), ("bad", "{")], on: pipeline)
            let refused = await prompt.typing(["3"]).run("dead-letters", "replay", "--all")
            #expect(refused.output.hasPrefix("Predicted outcomes:"), "\(refused.output)")
            #expect(refused.output.contains("invalid-still, malformed-json"), "\(refused.output)")
            #expect(refused.output.hasSuffix("Nothing was changed."), "\(refused.output)")
            let answer = await prompt.typing(["2", "they mended it"]).run("dead-letters", "replay", "--all")
            #expect(answer.code == .answerIsNo, "one of them is invalid still")
            #expect(answer.output.contains("Replay 1 has started: 2 items."))
            #expect(answer.output.contains("recorded"))
            #expect(answer.output.contains("failed: died again, open again"))
            let shown = await prompt.run("dead-letters", "replays")
            #expect(shown.output.contains("they mended it"))
            let listed = await prompt.run("dead-letters", "replays", "--json").output
            #expect(listed.contains(#""settled":2"#), "\(listed)")
            let one = await prompt.run("dead-letters", "replays", "1", "--json")
            #expect(one.output.contains(#""outcomes":{"recorded":1,"failed":1}"#))
            let history = await prompt.run("dead-letters", "show", "good")
            #expect(history.output.contains("replayed by tester: replay 1: recorded"))
        }
    }

    @Test(
        "items of another replay are rejected with its number, and pause, cancel and resume work"
    )
    func overlap() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file((0..<300).map { ("item-\($0)", "{") }, on: pipeline)
            let words = ["--yes", "--because", "x", "--by", "ada"]
            let begun = await prompt.run(["dead-letters", "replay", "--all", "--detach", "--rate", "1/s"] + words)
            #expect(begun.code == .done, "\(begun.complaints)")
            let second = await prompt.run(["dead-letters", "replay", "--reason", "malformed-json"] + words)
            #expect(second.code == .tryAgain)
            #expect(second.complaints.contains("replay 1 of ada"))
            #expect(second.complaints.contains("cancel 1"))
            let faster = await prompt.run("dead-letters", "resume", "1", "--rate", "2/s", "--because", "x")
            #expect(faster.output.contains(": running"), "\(faster.complaints)")
            let rate = try await pipeline.servers.count("SELECT rate FROM replays")
            #expect(rate == 2, "while it runs")
            for (verb, state) in [("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")] {
                let answer = await prompt.run("dead-letters", verb, "1", "--yes", "--because", "x")
                #expect(answer.code == .done, "\(verb): \(answer.complaints)")
                #expect(answer.output.contains(": \(state)"), "\(answer.output)")
                guard verb == "pause" else { continue }
                let third = await prompt.run(["dead-letters", "replay", "--reason", "malformed-json"] + words)
                let advice = "bellhop dead-letters resume 1 continues it, cancel 1 ends it"
                #expect(third.complaints.contains(advice), "\(third.complaints)")
            }
            // On a busy machine, some items are sent before the cancellation.
            try await pipeline.wait(for: 1, "SELECT count(*) FROM replays WHERE finished_at IS NOT NULL")
            let unsent = "SELECT count(*) FROM replay_items WHERE outcome = 'cancelled'"
            let left = try await pipeline.servers.count(unsent)
            let shown = await prompt.run("dead-letters", "replays", "1").output
            let state = ": cancelled, \(300 - left) replayed, \(left) left unsent and open again"
            #expect(left > 0 && shown.contains(state), "\(shown)")
            #expect(shown.contains("Not sent, cancelled: \(left) ("), "\(shown)")
            let list = await prompt.run("dead-letters", "replays").output
            #expect(list.contains("\(300 - left), \(left) left"), "\(list)")
            let again = await prompt.run("dead-letters", "resume", "1", "--because", "x")
            #expect(again.code == .answerIsNo)
            #expect(again.complaints.contains("it is cancelled"))
            let late = await prompt.run("dead-letters", "resume", "1", "--rate", "3/s", "--because", "x")
            #expect(late.complaints.contains("it is cancelled"), "\(late.output)")
            let acts = try await pipeline.servers.column("SELECT act FROM audit ORDER BY number")
            #expect(acts == ["replay", "rate", "pause", "resume", "cancel"])
            let none = await prompt.run("dead-letters", "pause", "99", "--because", "x")
            #expect(none.complaints.contains("unknown replay"))
        }
    }

    @Test("items that failed before the duplicate protection's horizon are left out and reported")
    func tooOld() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file([("old", "{")], on: pipeline, failedAt: DeadLetterSamples.ago(40 * 86_400))
            let answer = await prompt.run("dead-letters", "replay", "--all", "--yes", "--because", "x")
            #expect(answer.code == .answerIsNo)
            #expect(answer.output.contains("1 item failed first more than 30d ago"))
            let longer = await prompt.with("BELLHOP_REPLAY_HORIZON", "60d")
                .run("dead-letters", "replay", "--all", "--yes", "--because", "x")
            #expect(longer.output.contains("Replay 1 has started"), "\(longer.complaints)")
        }
    }

    @Test("the scheduler's recorded retention applies if it exceeds the command's settings")
    func letGo() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file([("old", "{")], on: pipeline, failedAt: DeadLetterSamples.ago(20 * 86_400))
            _ = try await pipeline.servers.owner.run(
                "INSERT INTO retired VALUES ('tokens', now() - interval '20 days')"
            )
            let words = ["--yes", "--because", "x"]
            let answer = await prompt.run(["dead-letters", "replay", "--all"] + words)
            #expect(answer.code == .answerIsNo)
            #expect(answer.output.contains("1 item failed first before 20"), "\(answer.output)")
            #expect(answer.output.contains("BELLHOP_RETENTION"))
            let edit = await prompt.run(["dead-letters", "edit", "old", "--set", "/id=x"] + words)
            #expect(edit.complaints.contains("it failed first before 20"), "\(edit.complaints)")
        }
    }

    @Test("an item too old for a replay is too old for a corrected copy as well")
    func editTooOld() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let body = #"{"to":{"user":"u1"},"title":"t","body":"b"}"#
            try await DeadLetterFixture.file(
                [("old", body)],
                on: pipeline,
                reason: "missing-id",
                failedAt: DeadLetterSamples.ago(40 * 86_400)
            )
            let words = ["dead-letters", "edit", "old", "--set", "/id=e1", "--yes", "--because", "x"]
            let answer = await prompt.run(words)
            #expect(answer.code == .answerIsNo)
            #expect(answer.complaints.contains("it failed first more than 30d ago"), "\(answer.complaints)")
            let items = try await pipeline.servers.column("SELECT state FROM dead_letters")
            #expect(items == ["open"])
        }
    }

    @Test("an edited copy is sent in place of its original in one action, and the original is resolved")
    func edit() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file(
                [("lost", #"{"to":{"user":"u1"},"title":"t","body":"b"}"#)],
                on: pipeline,
                reason: "missing-id"
            )
            let words = ["--yes", "--because", "ticket 9"]
            let wrong = await prompt.run(["dead-letters", "edit", "lost", "--set", "/to=7"] + words)
            #expect(wrong.code == .badInput)
            #expect(wrong.complaints.contains("missing-id") || wrong.complaints.contains("invalid-field"))
            let answer = await prompt.run(
                ["dead-letters", "edit", "lost", "--set", "/id=evt-9", "--set", "title=New"] + words
            )
            #expect(answer.code == .done, "\(answer.complaints)\(answer.output)")
            #expect(answer.output.contains(#"+ /id "evt-9""#))
            #expect(answer.output.contains(#"- /title "••• 1 character""#))
            let titles = try await pipeline.servers.column("SELECT event_id || ' ' || title FROM notifications")
            #expect(titles == ["evt-9 New"])
            let items = try await pipeline.servers.column(
                "SELECT concat_ws('|', edited_from, event_id, state, left(resolution, 12)) FROM dead_letters ORDER BY filed_at"
            )
            #expect(items == ["resolved|edited: edit", "lost|evt-9|resolved|recorded"])
            let copies = try await pipeline.servers.column(
                "SELECT dead_id FROM dead_letters WHERE edited_from = 'lost'"
            )
            let first = copies.first ?? nil
            let copy = try #require(first)
            let list = await prompt.run("dead-letters", "list", "--state", "all").output
            let rows = list.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            let listed = rows.filter { $0.hasSuffix("u1 corrected copy the corrected copy of lost") }
            #expect(listed.count == 1, "\(list)")
            let originals = rows.filter { $0.contains(" missing-id ") }
            #expect(originals.count == 1, "\(list)")
            let shown = await prompt.run("dead-letters", "show", copy).output
            let flat = shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let reason = "none, this is the corrected copy of lost, which had the reason missing-id"
            #expect(flat.contains(reason), "\(shown)")
            #expect(shown.contains("died 0 times, replayed 1 time"), "\(shown)")
            let json = await prompt.run("dead-letters", "list", "--state", "all", "--json").output
            #expect(json.contains(#""stage":"desk","reason":"missing-id""#), "\(json)")
            let again = await prompt.run(["dead-letters", "edit", "lost", "--set", "/id=evt-10"] + words)
            #expect(again.complaints.contains("only open items can be edited"))
            let audit = try await pipeline.servers.column("SELECT act || ' ' || because FROM audit")
            #expect(audit == ["edit ticket 9"])
        }
    }

    @Test("a recorded event cannot be edited, and the message states why")
    func editRecorded() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let body = #"{"id":"e1","to":{"user":"u1"},"title":"t","body":"b"}"#
            try await pipeline.publish([pipeline.event(body, key: "drop.system")])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
            try await DeadLetterFixture.file([("known", body)], on: pipeline)
            let key = try DeadLetterSamples.key(user: "u1")
            _ = try await DeadLetterStore(pool: pipeline.servers.pool).file([DeadLetterSamples.delivery(key)])
            for (item, why) in [("known", "it is recorded already"), ("noti_", "its event is recorded")] {
                let answer = await prompt.run("dead-letters", "edit", item, "--set", "/id=x", "--yes", "--because", "x")
                #expect(answer.code == .answerIsNo)
                #expect(answer.complaints.contains(why), "\(answer.complaints)")
            }
        }
    }

    @Test("the operator's editor changes a copy, and the reveal is audited")
    func editor() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file(
                [("lost", #"{"to":{"user":"u1"},"title":"t","body":"b"}"#)],
                on: pipeline,
                reason: "missing-id"
            )
            // Replaces the first brace only: the body is shown over several lines.
            let answer = await prompt.with("EDITOR", #"sed -i '1s/{/{"id":"evt-1",/'"#).typing(["they forgot it", "1"])
                .run("dead-letters", "edit", "lost")
            #expect(answer.code == .done, "\(answer.complaints)\(answer.output)")
            let events = try await pipeline.servers.column("SELECT event_id FROM notifications")
            #expect(events == ["evt-1"])
            let acts = try await pipeline.servers.column("SELECT act FROM audit ORDER BY number")
            #expect(acts == ["reveal", "edit"])
        }
    }
}

private struct DryRunAnswer: Decodable {
    struct Item: Decodable {
        let id: String
        let prediction: String
    }

    let count: Int
    let items: [Item]
}

/// A prompt with running workers and a scheduler.
enum DeadLetterFixture {
    static func with(_ body: @escaping @Sendable (Prompt, PipelineFixture) async throws -> Void) async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await CommandFolder.withPrompt(on: servers) { prompt, _ in try await body(prompt, pipeline) }
            }
        }
    }

    /// Stores items whose messages came through the events exchange.
    static func file(
        _ letters: [(id: String, body: String)],
        on pipeline: PipelineFixture,
        reason: String = "malformed-json",
        failedAt: Timestamp? = nil
    ) async throws {
        let items = letters.map { id, body in
            var item = DeadLetterSamples.rejected(id, reason: reason, failedAt: failedAt, body: body)
            item.origin.exchange = pipeline.servers.names.events
            return item
        }
        _ = try await DeadLetterStore(pool: pipeline.servers.pool).file(items)
    }
}
