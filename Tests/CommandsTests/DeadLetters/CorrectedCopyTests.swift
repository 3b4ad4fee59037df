import CommandLineSupport
import Foundation
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
        "a corrected copy that is open after a cancel has no deaths, and its advice is to read it, in text and JSON"
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
            let advice =
                "a corrected copy that no replay sends, as after a cancelled edit: read it, then replay, edit or discard it"
            #expect(text.contains("what to do \(advice) runbook"), "\(text)")
            let json = await prompt.run("dead-letters", "show", copy, "--json").output
            #expect(json.contains(#""advice":"\#(advice)""#), "\(json)")
            #expect(json.contains(#""recommended":"none""#) && json.contains(#""deaths":0,"#), "\(json)")
            let export = await prompt.run(["dead-letters", "export", copy] + Self.why.filter { $0 != "--yes" }).output
            let message = try #require(DeadLetterMessage(parsing: Array(export.utf8)))
            #expect(message.summary.deaths == 1, "the table counts the submission")
        }
    }

    @Test("the audit of an edit has the places and values that were set, without personal data")
    func audited() async throws {
        let body = #"{"app":"drop","eventType":"system","title":"t","body":"b","metadata":{"x":"1"},"data":{}}"#
        let letters = ["one", "two", "three"].map {
            DeadLetterSamples.rejected($0, reason: "missing-id", body: body)
        }
        try await DeadLetterPrompt.with(letters) { prompt, servers in
            let values = ["/id=e1", "/title=Hello Ada", #"/to={"user":"u7"}"#].flatMap { ["--set", $0] }
            let set = await prompt.run(["dead-letters", "edit", "one", "--detach"] + values + Self.why)
            #expect(set.code == .done, "\(set.complaints)")
            try await CommandFolder.with { folder in
                let file = folder.appendingPathComponent("body.json")
                let text =
                    #"{"app":"drop","eventType":"system","id":"e2","to":{"topic":"venue:42"},"title":"t","body":"b","data":{}}"#
                try Data(text.utf8).write(to: file)
                let whole = ["dead-letters", "edit", "two", "--detach", "--file", file.path]
                let written = await prompt.run(whole + Self.why)
                #expect(written.code == .done, "\(written.complaints)")
            }
            let fields = (1...12).flatMap { ["--set", "/data/f\($0)=\(String(repeating: "x", count: 300))"] }
            let required = ["--set", "/id=e3", "--set", #"/to={"topic":"venue:42"}"#]
            let long = await prompt.run(["dead-letters", "edit", "three", "--detach"] + required + fields + Self.why)
            #expect(long.code == .done, "\(long.complaints)")
            let json = await prompt.run("dead-letters", "audit", "--json").output
            let log = try JSONDecoder().decode(EditLog.self, from: Data(json.utf8)).acts
            try #require(log.count == 3, "\(json)")
            #expect(
                log[2].changes == [#"/title="••• 9 characters""#, #"/id="e1""#, #"/to={"user":"••• 2 characters"}"#]
            )
            #expect(log[1].changes == ["/metadata removed", #"/id="e2""#, #"/to={"topic":"venue:42"}"#])
            #expect(log[0].changes.count == 11, "\(log[0].changes)")
            #expect(log[0].changes.last == "4 other places")
            #expect(log.allSatisfy { $0.filter.items.count == 1 }, "\(json)")
            let text = await prompt.run("dead-letters", "audit").output
            let words = #"     set: /title="••• 9 characters", /id="e1", /to={"user":"••• 2 characters"}"#
            #expect(text.contains(words), "\(text)")
            let stored = try await servers.column("SELECT filter::text FROM audit")
            #expect(!stored.contains { $0?.contains("Ada") == true || $0?.contains("u7") == true }, "\(stored)")
        }
    }
}

/// The members of the audit on which the console relies.
private struct EditLog: Decodable {
    struct Act: Decodable {
        let filter: Filter
        let changes: [String]
    }

    struct Filter: Decodable {
        let items: [String]
    }

    let acts: [Act]
}
