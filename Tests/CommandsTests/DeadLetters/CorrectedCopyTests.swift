import CommandLineSupport
import IntegrationSupport
import Operations
import Postgres
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Corrected copies",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct CorrectedCopyTests {
    private static let why = ["--yes", "--by", "ada", "--because", "why not"]

    @Test(
        "a corrected copy that is open after a cancel has no deaths, and its advice is to replay it, in text and JSON"
    )
    func openCopy() async throws {
        let body = #"{"app":"drop","eventType":"system","id":"e1","title":"t","body":"b"}"#
        let letters = [DeadLetterSamples.rejected("lost", reason: "missing-audience", body: body)]
        try await DeadLetterPrompt.with(letters) { prompt, servers in
            let change = ["--set", #"/to={"user":"u1"}"#, "--detach"]
            let edited = await prompt.run(["dead-letters", "edit", "lost"] + change + Self.why)
            #expect(edited.code == .done, "\(edited.complaints)")
            let copies = try await servers.column("SELECT dead_id FROM dead_letters WHERE edited_from = 'lost'")
            let first = copies.first ?? nil
            let copy = try #require(first)
            let running = await prompt.run("dead-letters", "show", copy, "--json").output
            #expect(
                running.contains(#""advice":"it is corrected, and the replay sends it","recommended":"none""#),
                "\(running)"
            )
            _ = await prompt.run(["dead-letters", "cancel", "1"] + Self.why)
            let shown = await prompt.run("dead-letters", "show", copy)
            let text = shown.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.contains("state open; died 0 times"), "\(text)")
            #expect(text.contains("what to do it is corrected, and nothing sends it: replay it runbook"), "\(text)")
            let json = await prompt.run("dead-letters", "show", copy, "--json").output
            #expect(json.contains(#""advice":"it is corrected, and nothing sends it: replay it""#), "\(json)")
            #expect(json.contains(#""recommended":"replay""#) && json.contains(#""deaths":0,"#), "\(json)")
            let export = await prompt.run(["dead-letters", "export", copy] + Self.why.filter { $0 != "--yes" }).output
            let message = try #require(DeadLetterMessage(parsing: Array(export.utf8)))
            #expect(message.summary.deaths == 1, "the table counts the submission")
        }
    }
}
