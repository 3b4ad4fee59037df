import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Operations
import Postgres
import Push
import Store
import TestSupport
import Testing

@testable import CLI
@testable import Commands

@Suite(
    "Dead-letter actions",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DeadLetterActionTests {
    private static let why = ["--yes", "--by", "ada", "--because", "why not"]

    private static let letters = [
        DeadLetterSamples.rejected("a-letter", failedAt: DeadLetterSamples.ago(300)),
        DeadLetterSamples.rejected("b-letter", failedAt: DeadLetterSamples.ago(200)),
        DeadLetterSamples.rejected("c-letter", reason: "missing-id", failedAt: DeadLetterSamples.ago(100)),
    ]

    private static func states(_ servers: ServerFixture) async throws -> [String?] {
        try await servers.column("SELECT left(dead_id, 1) || ' ' || state FROM dead_letters ORDER BY 1")
    }

    @Test(
        "an action without a selection is rejected instead of applying to everything",
        arguments: ["discard", "restore", "note", "replay", "edit"]
    )
    func everything(verb: String) async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, servers in
            let change = verb == "edit" ? ["--set", "/id=x"] : []
            let bare = await prompt.run(["dead-letters", verb] + change + Self.why)
            #expect(bare.code == .usage)
            #expect(bare.complaints.contains("requires items, a filter, or --all"), "\(bare.complaints)")
            for idle in [["--limit", "1"], ["--text", ""]] {
                let answer = await prompt.run(["dead-letters", verb] + idle + change + Self.why)
                #expect(answer.code == .usage, "\(answer.output)")
            }
            let both = await prompt.run(["dead-letters", verb, "--all", "--reason", "missing-id"] + change + Self.why)
            #expect(both.code == .usage)
            let acts = try await servers.count("SELECT count(*) FROM audit")
            #expect(acts == 0)
        }
    }

    @Test("a dry run counts the items of an action and changes nothing", arguments: ["discard", "restore", "note"])
    func dryRun(verb: String) async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, servers in
            let state = verb == "restore" ? "discarded" : "open"
            _ = try await servers.owner.run(Statement("UPDATE dead_letters SET state = '\(state)'"))
            let answer = await prompt.run("dead-letters", verb, "--reason", "malformed-json", "--dry-run")
            #expect(answer.code == .done, "\(answer.complaints)")
            #expect(answer.output.contains("2 items"), "\(answer.output)")
            #expect(answer.output.contains("nothing was changed"), "\(answer.output)")
            #expect(try await servers.count("SELECT count(*) FROM dead_letters WHERE state = '\(state)'") == 3)
            #expect(try await servers.count("SELECT count(*) FROM audit") == 0)
        }
    }

    @Test("undo reverts one action, except for items changed since")
    func undo() async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, servers in
            let discard = ["dead-letters", "discard"] + Self.why
            _ = await prompt.run(discard + ["c-letter"])
            let all = await prompt.run(discard + ["--reason", "malformed-json"])
            #expect(
                all.output == "Discarded 2 items (act 2). bellhop dead-letters undo 2 reverts it.",
                "\(all.complaints)"
            )
            _ = await prompt.run(["dead-letters", "restore", "b-letter"] + Self.why)
            _ = await prompt.run(discard + ["b-letter"])
            let undone = await prompt.run(["dead-letters", "undo", "2"] + Self.why)
            #expect(undone.output.hasPrefix("Restored 1 item (act 5)."), "\(undone.complaints)")
            let states = try await Self.states(servers)
            #expect(states == ["a open", "b discarded", "c discarded"])
            let again = await prompt.run(["dead-letters", "undo", "2"] + Self.why)
            #expect(again.code == .answerIsNo)
            let left = "Nothing is left to undo of act 2: it was undone already, or its items were changed since."
            #expect(again.output == left)
            let back = await prompt.run(["dead-letters", "undo", "5"] + Self.why)
            #expect(back.output.hasPrefix("Discarded 1 item (act 6)."), "\(back.complaints)")
            let unknown = await prompt.run(["dead-letters", "undo", "4711"] + Self.why)
            #expect(unknown.complaints.contains("undo act 4711: there is no such act"), "\(unknown.complaints)")
            let dry = await prompt.run("dead-letters", "undo", "6", "--dry-run")
            #expect(dry.output.hasPrefix("This reverts act 6: it restores 1 item"), "\(dry.output)")
            let audit = await prompt.run("dead-letters", "audit")
            let reverted = "undoes act 2: discard of reason malformed-json"
            #expect(audit.output.contains(reverted), "\(audit.output)")
            let json = await prompt.run("dead-letters", "audit", "--json")
            #expect(json.output.contains(#""undoes":"discard of reason malformed-json""#), "\(json.output)")
            let acts = try JSONDecoder().decode(PrintedAudit.self, from: Data(json.output.utf8)).acts
            let undoings = acts.map { "\($0.number) \($0.undoneBy.map(String.init) ?? "-") \($0.canUndo)" }
            #expect(undoings == ["6 - true", "5 6 false", "4 - true", "3 - true", "2 5 false", "1 - true"])
            #expect(acts.allSatisfy { !$0.isResult })
        }
    }

    @Test("the audit names the group that a fingerprint selects, and the filter of an edit of many")
    func names() async throws {
        let app = #"{"app":"drop","eventType":"system","title":"t","body":"b","to":{"user":"u1"}}"#
        let letters = (1...3).map {
            DeadLetterSamples.rejected("l\($0)", reason: "missing-id", app: "drop", error: "no id", body: app)
        }
        try await DeadLetterPrompt.with(letters) { prompt, servers in
            let prints = try await servers.column("SELECT DISTINCT fingerprint FROM dead_letters")
            let print = try #require(prints.first ?? nil)
            let edit = ["dead-letters", "edit", "--fingerprint", print, "--set", "/id={item}", "--detach"] + Self.why
            let edited = await prompt.run(edit)
            #expect(edited.code == .done, "\(edited.complaints)")
            let filter = try await servers.column("SELECT (filter - 'set')::text FROM audit WHERE act = 'edit'")
            let typed = "{\"fingerprint\": \"\(print)\"}"
            #expect(filter == [typed])
            let audit = await prompt.run("dead-letters", "audit")
            #expect(audit.output.hasSuffix("\n     set: /id=\"{item}\""), "\(audit.output)")
            let group = "group \(print) (missing-id of drop)"
            #expect(audit.output.contains(group), "\(audit.output)")
            let json = await prompt.run("dead-letters", "audit", "--json")
            #expect(json.output.contains(#""group":"missing-id of drop""#), "\(json.output)")
        }
    }

    @Test("an unknown filter value and a repeated option are rejected instead of giving an empty answer")
    func words() async throws {
        try await DeadLetterPrompt.with(Self.letters + [DeadLetterSamples.rejected("d-letter", reason: "homemade")]) {
            prompt,
            _ in
            let wrong: [([String], String)] = [
                (["--reason", "payload_refused"], "did you mean payload-refused?"),
                (["--reason", "a,b"], "no reason is called a,b"), (["--stage", "nope"], "no stage is called nope"),
                (["--provider", "gcm"], "did you mean fcm?"), (["--reason", "x", "--reason", "y"], "more than once"),
                (["--sort", "upwards"], "newest, oldest or deaths"),
            ]
            for (words, why) in wrong {
                let answer = await prompt.run(["dead-letters", "list"] + words)
                #expect(answer.code == .usage)
                #expect(answer.complaints.contains(why), "\(answer.complaints)")
            }
            // The reason comes from another program: it is still a reason.
            let known = await prompt.run("dead-letters", "list", "--reason", "homemade")
            #expect(known.code == .done)
            let none = await prompt.run("dead-letters", "list", "--reason", "too-large")
            #expect(none.code == .answerIsNo)
        }
    }

    @Test("a list is sorted and searched, and a group is found by the beginning of its fingerprint")
    func list() async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, servers in
            let oldest = await prompt.run("dead-letters", "list", "--sort", "oldest")
            let rows = oldest.output.split(separator: "\n").dropFirst().map { $0.prefix(1) }
            #expect(rows == ["a", "b", "c"])
            let error = try #require(
                try await servers.column("SELECT upper(error) FROM dead_letters LIMIT 1").first ?? nil
            )
            let found = await prompt.run("dead-letters", "list", "--text", error)
            #expect(found.code == .done)
            let nothing = await prompt.run("dead-letters", "list", "--text", "no such words")
            #expect(nothing.code == .answerIsNo)
            let print = try #require(
                try await servers.column("SELECT fingerprint FROM dead_letters WHERE reason = 'missing-id'").first
                    ?? nil
            )
            let group = await prompt.run("dead-letters", "list", "--fingerprint", String(print.prefix(8)), "--json")
            #expect(group.output.contains("c-letter"))
            #expect(!group.output.contains("a-letter"))
        }
    }

    @Test("a list puts errors on separate lines on a narrow terminal, and in a column on a wide one and in a pipe")
    func narrow() async throws {
        let error = "the text ends inside a value (line 1, column 50, byte 49)"
        let letters = (1...2).map { DeadLetterSamples.rejected("letter-\($0)", user: "u\($0)", error: error) }
        try await DeadLetterPrompt.with(letters) { prompt, _ in
            for (width, count) in [(80, 5), (160, 3)] {
                let screen = CapturedOutput()
                let shell = CommandEnvironment(environment: prompt.environment, output: screen.screen(width: width))
                _ = await CommandLineTool.whole.run(["dead-letters", "list"], shell)
                let lines = screen.text.split(separator: "\n")
                #expect(lines.count == count, "\(screen.text)")
                let whole = lines.filter { $0.contains(error) }
                #expect(whole.count == 2, "\(screen.text)")
            }
            let piped = await prompt.run("dead-letters", "list")
            #expect(piped.output.split(separator: "\n").count == 3)
        }
    }

    @Test("the audit of an action on named items shows the first and the number of others")
    func manyNamed() async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, _ in
            _ = await prompt.run(["dead-letters", "discard", "a-letter", "b-letter", "c-letter"] + Self.why)
            let audit = await prompt.run("dead-letters", "audit")
            #expect(audit.output.contains("items a-letter and 2 more"), "\(audit.output)")
        }
    }

    @Test("each verb has separate help with an example that it accepts", arguments: DeadLetterVerb.allCases)
    func help(verb: DeadLetterVerb) async throws {
        let answer = await Prompt().run("dead-letters", verb.rawValue, "--help")
        #expect(answer.code == .done)
        #expect(answer.output.contains("bellhop dead-letters \(verb.example)"))
        let others = DeadLetterVerb.allCases.filter { $0 != verb }.map { "dead-letters \($0.usage)" }
        #expect(!others.contains { answer.output.contains($0) })
        #expect(answer.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        let words = verb.example.split(separator: " ").map(String.init)
        let parsed = try Words(words, options: DeadLetterOptions.all, of: "dead-letters")
        #expect(parsed.given.isSubset(of: verb.options(parsed)))
    }

    @Test("a replay can start at a given time and sends nothing before")
    func later() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file(
                [("good", #"{"id":"g1","to":{"user":"u1"},"title":"t","body":"b"}"#)],
                on: pipeline
            )
            let begun = await prompt.run(["dead-letters", "replay", "good", "--at", "8h"] + Self.why)
            #expect(begun.code == .done, "\(begun.complaints)")
            #expect(begun.output.hasPrefix("Replay 1 is scheduled: 1 item, sent from 20"), "\(begun.output)")
            #expect(!begun.output.contains("started"), "\(begun.output)")
            let past = await prompt.run(["dead-letters", "replay", "--all", "--at", "2020-01-01T00:00:00Z"] + Self.why)
            #expect(past.code == .usage)
            let shown = await prompt.run("dead-letters", "replays", "1", "--json")
            #expect(shown.output.contains(#""waiting":1"#), "\(shown.output)")
            #expect(shown.output.contains(#""scheduled":true"#), "\(shown.output)")
            let list = await prompt.run("dead-letters", "replays").output.split(separator: "\n")
            let row = list.last.map { $0.split(separator: " ").joined(separator: " ") } ?? ""
            #expect(row.hasPrefix("1 scheduled in 7 h ada 1 0"), "\(list)")
            let text = await prompt.run("dead-letters", "replays", "1").output
            #expect(text.contains(": scheduled, starts at 20") && text.contains("(in 7 h)"), "\(text)")
            #expect(text.contains("by ada, created 20") && !text.contains("running"), "\(text)")
            let taken = await prompt.run(["dead-letters", "replay", "--all"] + Self.why)
            #expect(taken.complaints.contains(", scheduled for 20"), "\(taken.complaints)")
            let paused = await prompt.run(["dead-letters", "pause", "1"] + Self.why).output
            #expect(paused.contains(": paused") && paused.contains("it sends from 20"), "\(paused)")
            let resumed = await prompt.run(["dead-letters", "resume", "1"] + Self.why).output
            #expect(resumed.contains(": scheduled, starts at"), "\(resumed)")
            _ = try await pipeline.servers.owner.run("UPDATE replays SET not_before = now()")
            try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
        }
    }

    @Test("a failed item of a replay is named with its error")
    func failures() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file([("bad-letter", "{")], on: pipeline)
            let answer = await prompt.run(["dead-letters", "replay", "bad-letter"] + Self.why)
            #expect(answer.code == .answerIsNo)
            let error = try #require(try await pipeline.servers.column("SELECT error FROM dead_letters").first ?? nil)
            let line = "bad-letter  malformed-json: \(error)"
            #expect(answer.output.contains(line), "\(answer.output)")
            let json = await prompt.run("dead-letters", "replays", "1", "--json")
            let member = #""error":"\#(error)""#
            #expect(json.output.contains(member), "\(json.output)")
            #expect(
                json.output.contains(#""failures":[{"id":"bad-letter","outcome":"failed","reason":"malformed-json""#)
            )
        }
    }

    @Test("a replay with failures shows when they happened")
    func course() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file([("bad-one", "{"), ("bad-two", "[")], on: pipeline)
            let answer = await prompt.run(["dead-letters", "replay", "--all"] + Self.why)
            #expect(answer.code == .answerIsNo)
            let lines = answer.output.split(separator: "\n").map(String.init)
            let first = lines.firstIndex { $0.hasPrefix("  settled  ") }
            let place = try #require(first)
            let settled = lines[place]
            let failed = lines[place + 1]
            #expect(settled.hasPrefix("  settled  ") && settled.count == 11 + ReplayTimeline.parts)
            let (all, lost) = (settled.dropFirst(11), failed.dropFirst(11))
            #expect(all == lost, "all of them failed")
            let json = await prompt.run("dead-letters", "replays", "1", "--json")
            #expect(json.output.contains(#""course":{"settled":["#), "\(json.output)")
            for (span, heading) in [("400 ms", "All within 1 s:"), ("90 s", "Over 90 s:")] {
                // The end is noted after the last outcome, on a slow machine more than 400 ms after it.
                _ = try await pipeline.servers.owner.run(
                    """
                    WITH changed AS (
                        UPDATE replays SET started_at = finished_at - $1::text::interval RETURNING id, finished_at
                    )
                    UPDATE replay_items i SET settled_at = c.finished_at FROM changed c WHERE i.replay_id = c.id
                    """,
                    [.text(span)]
                )
                let shown = await prompt.run("dead-letters", "replays", "1").output
                #expect(shown.contains("\n\(heading)\n  settled  "), "\(shown)")
            }
        }
    }

    @Test("a dry run shows the minimum time under a budget, for pushes known to use it")
    func budgets() async throws {
        try await CommandFolder.with { folder in
            let file = folder.appendingPathComponent("providers.json5")
            try Data("{drop: {expo: {budget: {pushes: 10, seconds: 1}}}}".utf8).write(to: file)
            var budgets = ReplayBudgets(try ProviderConfiguration.read(file: file.path))
            var cause = DeadLetterCause(.dispatch, reason: "attempts-exhausted", error: "x")
            cause.app = "drop"
            for provider in ["expo", "fcm", nil] {
                cause.provider = provider
                for _ in 0..<100 { budgets.add(cause) }
            }
            #expect(budgets.lines == ["expo/drop takes 10 in 1s: its 100 pushes take 9 s at least."])
            #expect(budgets.json.written == #"[{"account":"expo/drop","pushes":100,"leastSeconds":9}]"#)
            #expect(ReplayBudgets(nil).lines.isEmpty)
        }
    }

    @Test("a dry run reports items that a breaker or an operator's hold would defer")
    func held() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await pipeline.publish([
                pipeline.event(
                    #"{"userId":"u1","token":"t1","platform":"android","provider":"fcm"}"#,
                    key: "drop.subscription.upserted"
                )
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM push_subscriptions")
            let body = #"{"id":"g1","to":{"user":"u1"},"title":"t","body":"b"}"#
            var letter = DeadLetterSamples.rejected("good", reason: "malformed-json", body: body)
            letter.origin.exchange = pipeline.servers.names.events
            letter.origin.routingKey = "drop.transaction_complete"
            _ = try await DeadLetterStore(pool: pipeline.servers.pool).file([letter])
            func predictions() async -> String {
                await prompt.run("dead-letters", "replay", "--dry-run", "--json").output
            }
            let free = await predictions()
            #expect(free.contains("would-send"), "\(free)")
            _ = try await pipeline.servers.owner.run(
                "INSERT INTO breakers (app, provider, reason, probe_at) VALUES ('drop', 'fcm', 'wrong-key', now() + interval '1 h')"
            )
            let behind = await predictions()
            #expect(behind.contains("held-by-breaker"), "\(behind)")
            _ = try await pipeline.servers.owner.run(
                "INSERT INTO holds (app, operator, because) VALUES ('drop', 'ada', 'a test')"
            )
            let held = await predictions()
            #expect(held.contains("held-by-operator"), "\(held)")
        }
    }

    @Test(
        "one edit corrects many items: the first is shown, items still invalid stay, and the others are sent"
    )
    func many() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let lost = (1...3).map { number in
                ("lost-\(number)", #"{"id":"e\#(number)","title":"t","body":"b"}"#)
            }
            try await DeadLetterFixture.file(lost + [("broken", "{")], on: pipeline, reason: "missing-audience")
            let words = ["dead-letters", "edit", "--reason", "missing-audience", "--set", #"/to={"user":"u1"}"#]
            let dry = await prompt.typing(["4"]).run(words)
            #expect(dry.output.contains("1 item stays: "), "\(dry.output)")
            #expect(dry.output.contains(#"+ /to {"user":"u1"}"#), "\(dry.output)")
            #expect(dry.output.hasSuffix("Nothing was changed."))
            let foreseen = await prompt.run(words + ["--dry-run"])
            #expect(foreseen.code == .done)
            let last = "This would send 3 corrected copies; nothing was changed:\n  would-record, type-muted       3"
            #expect(foreseen.output.hasSuffix(last), "\(foreseen.output)")
            let wrong = await prompt.run(words + ["--set", "/title=5", "--dry-run"])
            let reason = "3 items stay: refused again, invalid-field at /title: expected a string, found a number"
            #expect(wrong.output.contains(reason), "\(wrong)")
            let single = ["dead-letters", "edit", "lost-1", "--set", #"/to={"user":"u1"}"#, "--dry-run", "--json"]
            let one = await prompt.run(single)
            let predicted = #""predictions":[{"prediction":"would-record","detail":"type-muted","count":1}]"#
            #expect(one.output == #"{"wouldSend":1,\#(predicted),"left":{}}"#, "\(one.complaints)")
            let done = await prompt.run(words + Self.why)
            #expect(done.code == .done, "\(done.complaints)\(done.output)")
            try await pipeline.wait(for: 3, "SELECT count(*) FROM notifications")
            let open = try await pipeline.servers.column("SELECT dead_id FROM dead_letters WHERE state = 'open'")
            let replays = try await pipeline.servers.count("SELECT count(*) FROM replays")
            let acts = try await pipeline.servers.column("SELECT act || ' ' || items FROM audit")
            #expect(open == ["broken"])
            #expect(replays == 1)
            #expect(acts == ["edit 3"])
        }
    }

    @Test("items without an id each get one derived from the item, never one id for all")
    func ids() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let body = #"{"to":{"user":"u1"},"title":"t","body":"b"}"#
            try await DeadLetterFixture.file([("lost-1", body), ("lost-2", body)], on: pipeline, reason: "missing-id")
            let words = ["dead-letters", "edit", "--reason", "missing-id"] + Self.why
            for set in ["/id=same", "id=same"] {
                let one = await prompt.run(words + ["--set", set])
                #expect(one.code == .badInput)
                #expect(one.complaints.contains("one id for 2 items would make one event of them"))
                #expect(one.complaints.contains("--set '/id={item}'"), "\(one.complaints)")
            }
            let each = await prompt.run(words + ["--set", "/id=fixed-{item}"])
            #expect(each.code == .done, "\(each.complaints)\(each.output)")
            try await pipeline.wait(for: 2, "SELECT count(*) FROM notifications")
            let events = try await pipeline.servers.column("SELECT event_id FROM notifications ORDER BY 1")
            #expect(events == ["fixed-lost-1", "fixed-lost-2"])
        }
    }

    @Test("a body too large for an event is edited as JSON")
    func large() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let words = String(repeating: "y", count: 300_000)
            let body = #"{"id":"big","to":{"user":"u1"},"title":"t","body":"\#(words)"}"#
            try await DeadLetterFixture.file([("large", body)], on: pipeline, reason: "too-large")
            let answer = await prompt.run(["dead-letters", "edit", "large", "--set", "/body=short"] + Self.why)
            #expect(answer.code == .done, "\(answer.complaints)")
            let bodies = try await pipeline.servers.column("SELECT body FROM notifications")
            #expect(bodies == ["short"])
        }
    }

    @Test("a misspelt type in the routing key cannot be corrected in the body, and the refusal names the option")
    func routingKey() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let body = #"{"id":"t1","to":{"user":"u1"},"title":"t","body":"b"}"#
            try await pipeline.publish([pipeline.event(body, key: "drop.sytem")])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
            let id = try #require(try await pipeline.servers.column("SELECT dead_id FROM dead_letters").first ?? nil)
            let inBody = await prompt.run(["dead-letters", "edit", id, "--set", "/eventType=system"] + Self.why)
            #expect(inBody.code == .badInput)
            let advice = "correct the body, with --routing-key the routing key, now drop.sytem, or both"
            #expect(inBody.complaints.contains(advice), "\(inBody.complaints)")
            let done = await prompt.run(["dead-letters", "edit", id, "--routing-key", "drop.system"] + Self.why)
            #expect(done.code == .done, "\(done.complaints)")
            try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
        }
    }

    @Test("the text from an operator's editor is kept if the copy is rejected")
    func draft() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file(
                [("lost", #"{"to":{"user":"u1"},"title":"t","body":"b"}"#)],
                on: pipeline,
                reason: "missing-id"
            )
            let answer = await prompt.with("EDITOR", #"sed -i '1s/{/{"to":7,/'"#).typing(["they forgot it"])
                .run("dead-letters", "edit", "lost")
            #expect(answer.code == .badInput, "\(answer.output)")
            let words = answer.complaints.split(whereSeparator: { " ,".contains($0) }).map(String.init)
            let path = try #require(words.first { $0.hasSuffix(".json") })
            let kept = try String(contentsOfFile: path, encoding: .utf8)
            #expect(kept.contains(#""to":7"#))
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test("a reused id is shown together with the content stored under it")
    func conflict() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let first = #"{"id":"t1","to":{"user":"u1"},"title":"one","body":"b"}"#
            try await pipeline.publish([pipeline.event(first, key: "drop.system")])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
            try await pipeline.publish([pipeline.event(first.replacing("one", with: "other"), key: "drop.system")])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE reason = 'id-conflict'")
            let id = try #require(try await pipeline.servers.column("SELECT dead_id FROM dead_letters").first ?? nil)
            let shown = await prompt.run(["dead-letters", "show", id, "--reveal"] + Self.why.dropFirst())
            #expect(shown.output.contains(#"- /title "one""#), "\(shown.output)\(shown.complaints)")
            #expect(shown.output.contains(#"+ /title "other""#))
            #expect(shown.output.contains("docs/runbooks/dead-letters.md#id-conflict"))
        }
    }
}

private struct PrintedAudit: Decodable {
    struct Act: Decodable {
        let number: Int
        let undoneBy: Int?
        let canUndo: Bool
        let isResult: Bool
    }

    let acts: [Act]
}
