import CommandLineSupport
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Filters of the audit",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct AuditFilterTests {
    private static func add(
        _ act: String,
        by name: String,
        _ filter: String = "{}",
        because: String = "why not",
        to servers: ServerFixture
    ) async throws {
        _ = try await servers.owner.run(
            """
            INSERT INTO audit (operator, act, filter, items, because)
            VALUES ($1::text, $2::text, $3::text::jsonb, 1, $4::text)
            """,
            [.text(name), .text(act), .text(filter), .text(because)]
        )
    }

    @Test("acts are selected by operator, by kind and by a text in the reason or the filter, in any case")
    func selected() async throws {
        try await DeadLetterPrompt.with([]) { prompt, servers in
            try await Self.add("discard", by: "Ada", #"{"app":"drop"}"#, because: "Ticket 4711", to: servers)
            try await Self.add("restore", by: "bo", #"{"act":1}"#, to: servers)
            try await Self.add("hold-add", by: "ada", #"{"app":"venues","hold":7}"#, to: servers)
            let cases: [([String], [String])] = [
                (["--by", "ada"], ["3", "1"]), (["--act", "restore"], ["2"]), (["--text", "ticket"], ["1"]),
                (["--text", "VENUES"], ["3"]), (["--by", "ada", "--act", "hold-add"], ["3"]),
                (["--text", "%"], []), (["--by", "cleo"], []), ([], ["3", "2", "1"]),
            ]
            for (options, numbers) in cases {
                let answer = await prompt.run(["dead-letters", "audit"] + options)
                let lines = answer.output.split(separator: "\n").dropFirst()
                let found = lines.map { line in String(line.prefix { $0 != " " }) }
                #expect(found == numbers, "\(options): \(answer.output)")
                if numbers.isEmpty { #expect(answer.output.contains("No actions match."), "\(answer.output)") }
            }
            let own = await prompt.run("dead-letters", "audit", "--act", "discard", "--json").output
            #expect(own.contains(#""undoneBy":2,"canUndo":false"#), "an undo outside of the list counts: \(own)")
        }
    }

    @Test("an act without a reason is marked until a reason is given, also if the filter leaves that out")
    func reasons() async throws {
        try await DeadLetterPrompt.with([]) { prompt, servers in
            let none = "no reason given yet"
            try await Self.add("hold-add", by: "ada", #"{"app":"venues","hold":7}"#, because: none, to: servers)
            try await Self.add("fanout-pause", by: "ada", #"{"app":"venues","fanout":3}"#, because: none, to: servers)
            let before = await prompt.run("dead-letters", "audit", "--json").output
            let lacking = before.matches(of: /"lacksReason":true/).count
            #expect(lacking == 2, "\(before)")
            try await Self.add("fanout-note", by: "ada", #"{"app":"venues","fanout":3,"hold":7}"#, to: servers)
            let after = await prompt.run("dead-letters", "audit", "--json").output
            #expect(!after.contains(#""lacksReason":true"#), "\(after)")
            let filtered = await prompt.run("dead-letters", "audit", "--act", "hold-add", "--json").output
            #expect(filtered.contains(#""lacksReason":false"#), "\(filtered)")
            try await Self.add("fanout-pause", by: "ada", #"{"app":"venues","fanout":3}"#, because: none, to: servers)
            let again = await prompt.run("dead-letters", "audit", "--limit", "1", "--json").output
            #expect(again.contains(#""lacksReason":true"#), "an earlier reason does not count: \(again)")
        }
    }
}
