import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import Store
import Synchronization
import TestSupport
import Testing

@testable import CLI
@testable import Commands

@Suite(
    "Dead-letter commands",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DeadLetterCommandTests {
    @Test("groups and list show open items as text and JSON, and exit with 1 if nothing matches")
    func reading() async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, _ in
            let groups = await prompt.run("dead-letters", "groups")
            #expect(groups.code == .done, "\(groups.complaints)")
            #expect(groups.output.hasPrefix("3 items in 2 groups, "))
            #expect(groups.output.contains("malformed-json"))
            #expect(groups.output.contains("intake drop system: expected a value"))
            let list = await prompt.run("dlq", "list", "--reason", "missing-id")
            #expect(list.code == .done)
            #expect(list.output.split(separator: "\n").count == 2)
            #expect(list.output.contains("c-letter"))
            #expect(!list.output.contains("deaths"), "each has died once")
            let json = await prompt.run("dead-letters", "list", "--json", "--limit", "2")
            let answer = try JSONDecoder().decode(ListAnswer.self, from: Data(json.output.utf8))
            #expect(answer.count == 3, "all that match, whatever is shown of them")
            let part = await prompt.run("dead-letters", "list", "--limit", "2")
            #expect(part.output.hasSuffix("2 of 3 items; --limit N shows more."), "\(part.output)")
            #expect(answer.items.map(\.id) == ["c-letter", "b-letter"])
            let elsewhere = await prompt.with("BELLHOP_NAMESPACE", "no_such_namespace_here").run("dlq", "groups")
            #expect(elsewhere.code == .configuration)
            #expect(elsewhere.complaints.contains("see bellhop migrate --check"), "\(elsewhere.complaints)")
            let nothing = await prompt.run("dead-letters", "groups", "--app", "nosuch")
            #expect(nothing.code == .answerIsNo)
            #expect(nothing.output == "No items match.")
        }
    }

    @Test("show masks personal data, and --reveal shows it, requires a reason and is audited")
    func masking() async throws {
        try await DeadLetterPrompt.with([DeadLetterSamples.rejected("a-letter", body: Self.personal)]) { prompt, _ in
            let masked = await prompt.run("dead-letters", "show", "a-let")
            #expect(masked.code == .done, "\(masked.complaints)")
            #expect(masked.output.contains("\"eventType\": \"system\""))
            #expect(masked.output.contains("\"title\": \"••• 9 characters\""))
            #expect(masked.output.contains("have it corrected"))
            #expect(!masked.output.contains("2 000 kr"))
            #expect(!masked.output.contains("Secret me"))
            #expect(!masked.output.contains("blue"), "a producer's header may be personal")
            let json = await prompt.run("dead-letters", "show", "a-letter", "--json")
            #expect(!json.output.contains("2 000 kr"))
            let unexplained = await prompt.run("dead-letters", "show", "a-letter", "--reveal")
            #expect(unexplained.code == .usage)
            let revealed = await prompt.run(
                "dead-letters",
                "show",
                "a-letter",
                "--reveal",
                "--by",
                "ada",
                "--because",
                "ticket 4"
            )
            #expect(revealed.output.contains("2 000 kr"))
            #expect(revealed.output.contains("blue"))
            let audit = await prompt.run("dead-letters", "audit")
            #expect(audit.output.contains("ada"))
            #expect(audit.output.contains("reveal"))
            #expect(audit.output.contains("ticket 4"))
        }
    }

    @Test("an action requires its exact count to be typed, and any other answer changes nothing")
    func typedCount() async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, servers in
            for answers in [["2", "because"], ["", "because"], ["yes", "because"]] {
                let refused = await prompt.typing(answers).run("dead-letters", "discard", "--all")
                #expect(refused.code == .answerIsNo)
                #expect(refused.output == "Nothing was changed.")
            }
            let found1 = try await servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            #expect(found1 == 3)
            let done = await prompt.typing(["3", "their flood"]).run("dead-letters", "discard", "--all")
            #expect(done.code == .done, "\(done.complaints)")
            #expect(done.output == "Discarded 3 items (act 1). bellhop dead-letters undo 1 reverts it.")
            let found2 = try await servers.column("SELECT operator || ': ' || because FROM audit")
            #expect(found2 == ["tester: their flood"])
        }
    }

    @Test("groups cuts an error to the width of a terminal, and not in a pipe")
    func wholeErrors() async throws {
        let error = String(repeating: "a long error ", count: 40) + "and its end"
        try await DeadLetterPrompt.with([DeadLetterSamples.rejected("l1", error: error)]) { prompt, _ in
            let piped = await prompt.run("dead-letters", "groups").output
            #expect(piped.contains("\n    intake drop system: \(error)"), "\(piped)")
            let screen = CapturedOutput()
            let shell = CommandEnvironment(environment: prompt.environment, output: screen.screen(width: 80))
            _ = await CommandLineTool.whole.run(["dead-letters", "groups"], shell)
            #expect(screen.text.contains("…") && !screen.text.contains("and its end"), "\(screen.text)")
        }
    }

    @Test("show names the hold behind which a replayed delivery waits, and the command that releases it")
    func heldDelivery() async throws {
        let key = try DeadLetterSamples.key(user: "ada")
        try await DeadLetterPrompt.with([DeadLetterSamples.delivery(key)]) { prompt, servers in
            let id = key.notification.notification.text
            _ = try await servers.owner.run(
                """
                INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                VALUES ('drop', 'ada', $1, 'e1', '', 'system', 't', 'b', 'normal')
                """,
                [.text(id)]
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at)
                VALUES ('drop', 'ada', $1, 'push', $2, 'deferred', 'held', 'drop/fcm//system', now())
                """,
                [.text(id), .text(key.target)]
            )
            let letter = "\(id)-\(key.target)-2"
            let line = "Its line in the ledger: deferred, held, 0 attempts"
            let released = await prompt.run("dead-letters", "show", letter)
            #expect(released.output.contains(line), "\(released.output)\(released.complaints)")
            #expect(!released.output.contains("stops it"), "\(released.output)")
            let hold = "INSERT INTO holds (app, type, provider, operator, because) VALUES ('drop', $1, '', 'ada', 'x')"
            for type in ["security", "system"] { _ = try await servers.owner.run(Statement(hold), [.text(type)]) }
            let shown = await prompt.run("dead-letters", "show", letter).output
            let held = "\(line)\nHold 2 (drop, type system) stops it: bellhop hold release 2 sends it.\n"
            #expect(shown.contains(held), "\(shown)")
            let json = await prompt.run("dead-letters", "show", letter, "--json").output
            #expect(
                json.contains(#""ledger":{"state":"deferred","reason":"held","attempts":0,"holds":[2]}"#),
                "\(json)"
            )
        }
    }

    @Test("an action without a terminal requires --yes and --because, and unused options are rejected")
    func withoutTerminal() async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, servers in
            let bare = await prompt.run("dead-letters", "discard", "--all", "--because", "x")
            #expect(bare.code == .usage)
            #expect(bare.complaints.hasPrefix("bellhop: discarding 3 items"), "\(bare.complaints)")
            #expect(bare.complaints.contains("; add --yes"))
            for reason in [[], ["--because", " "]] {
                let silent = await prompt.run(["dead-letters", "discard", "--all", "--yes"] + reason)
                #expect(silent.code == .usage)
                #expect(silent.complaints.contains("--because is required"))
            }
            let stray = await prompt.run("dead-letters", "groups", "--yes")
            #expect(stray.code == .usage)
            #expect(stray.complaints.contains("groups has no option --yes"))
            let unknown = await prompt.run("dead-letters", "lits")
            #expect(unknown.complaints.contains("did you mean list?"))
            let found3 = try await servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            #expect(found3 == 3)
        }
    }

    @Test("discard, restore and note apply to the whole filter or to the named items")
    func acts() async throws {
        try await DeadLetterPrompt.with(Self.letters) { prompt, servers in
            let words = ["--yes", "--by", "ada", "--because", "why not", "--json"]
            let discard = await prompt.run(["dead-letters", "discard", "--reason", "malformed-json"] + words)
            #expect(discard.output == #"{"items":2,"act":1}"#)
            let restore = await prompt.run(["dead-letters", "restore", "a-letter"] + words)
            #expect(restore.output == #"{"items":1,"act":2}"#)
            let note = await prompt.run(["dead-letters", "note", "b-letter", "a-letter"] + words)
            #expect(note.output == #"{"items":2,"act":3}"#)
            let again = await prompt.run(["dead-letters", "restore", "a-letter"] + words)
            #expect(again.code == .answerIsNo)
            let states = try await servers.column("SELECT dead_id || ' ' || state FROM dead_letters ORDER BY 1")
            #expect(states == ["a-letter open", "b-letter discarded", "c-letter open"])
            let show = await prompt.run("dead-letters", "show", "b")
            #expect(show.output.contains("noted by ada: why not"))
        }
    }

    private static let personal =
        #"{"id":"e1","eventType":"system","to":{"user":"u1"},"title":"Secret me","data":{"amount":"2 000 kr"}}"#

    private static let letters = [
        DeadLetterSamples.rejected("a-letter", failedAt: DeadLetterSamples.ago(300)),
        DeadLetterSamples.rejected("b-letter", failedAt: DeadLetterSamples.ago(200)),
        DeadLetterSamples.rejected("c-letter", reason: "missing-id", failedAt: DeadLetterSamples.ago(100)),
    ]
}

private struct ListAnswer: Decodable {
    struct Item: Decodable { let id: String }

    let count: Int
    let items: [Item]
}

/// A prompt with some stored dead letters.
enum DeadLetterPrompt {
    static func with(
        _ letters: [DeadLetterItem],
        _ body: @escaping @Sendable (Prompt, ServerFixture) async throws -> Void
    ) async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in try await body(prompt, servers) }
        }
    }
}

extension Prompt {
    /// Returns a prompt at whose terminal these lines are typed.
    func typing(_ lines: [String]) -> Prompt {
        var other = self
        let rest = TypedLines(lines)
        other.terminal = Terminal(ask: { _ in rest.next() }, show: { _ in })
        return other
    }
}

private final class TypedLines: Sendable {
    private let lines: Mutex<[String]>

    init(_ lines: [String]) { self.lines = Mutex(lines) }

    func next() -> String? {
        lines.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
