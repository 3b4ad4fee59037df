import CommandLineSupport
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "outcomes of fan-outs",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct FanoutOutcomeTests {
    @Test("a discarded push after a send without an answer may have arrived, in show and in list-users --sent")
    func mayHaveArrived() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 4)
            try await servers.addOutcome(of: "e1", to: "u1", state: "suppressed", reason: "discarded", unknownSends: 1)
            try await servers.addOutcome(of: "e1", to: "u2", state: "suppressed", reason: "discarded")
            try await servers.addOutcome(of: "e1", to: "u3", state: "deferred", reason: "held", unknownSends: 2)
            try await servers.addOutcome(of: "e1", to: "u4", state: "delivered", reason: nil, unknownSends: 1)
            let shown = Self.flat(await prompt.run("fanouts", "show", "\(number)").output)
            let words = "2 discarded; 2 of the unsent may have arrived: a send without an answer preceded"
            #expect(shown.contains(words), "\(shown)")
            let json = await prompt.run("fanouts", "show", "\(number)", "--json").output
            #expect(json.contains(#""mayHaveArrived":2"#), "\(json)")
            let sent = await prompt.run("fanouts", "list-users", "\(number)", "--sent").output.split(separator: "\n")
            try #require(sent.count == 5, "\(sent)")
            #expect(sent[1].hasPrefix("may have arrived  0 ") && sent[1].hasSuffix("  u1 (discarded)"), "\(sent)")
            #expect(sent[2].hasPrefix("may have arrived  0 "), "\(sent)")
            #expect(sent[2].hasSuffix("  u3 (still waiting, held)"), "\(sent)")
            #expect(sent[3].hasPrefix("sent              1 ") && sent[3].hasSuffix("  u4"), "\(sent)")
            #expect(sent[4] == "3 users.")
            let all = await prompt.run("fanouts", "list-users", "\(number)", "--json").output
            #expect(all.contains(#""reason":"discarded","mayHaveArrived":1}"#), "\(all)")
            #expect(all.contains(#""reason":"discarded","mayHaveArrived":0}"#), "\(all)")
            #expect(all.contains(#""reason":null,"mayHaveArrived":0}"#), "\(all)")
        }
    }

    private static func flat(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func with(_ body: @escaping @Sendable (Prompt, ServerFixture) async throws -> Void) async throws {
        try await DeadLetterPrompt.with([], body)
    }
}
