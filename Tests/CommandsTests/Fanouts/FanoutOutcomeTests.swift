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

    @Test("a cancelled fan-out counts the users with a record on pages that were not completed")
    func cancelled() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", planned: [true])
            for user in ["u1", "u2"] {
                try await servers.addOutcome(of: "e1", to: user, state: "delivered", reason: nil)
            }
            let agreed = ["--yes", "--by", "ada", "--because", "recalled"]
            _ = await prompt.run(["fanouts", "cancel", "\(number)"] + agreed)
            let shown = Self.flat(await prompt.run("fanouts", "show", "\(number)").output)
            let users =
                "users 0 on complete pages, 0 new notifications; 2 users have its notification in the app pushes 2 sent "
                + "to 2 users; with the pages in progress pages 3 complete, 1 in progress"
            #expect(shown.contains(users), "\(shown)")
            // As a live worker leaves it after the page, and as all pages leave it.
            _ = try await servers.owner.run("DELETE FROM fanout_pages")
            _ = try await servers.owner.run("UPDATE fanouts SET users = 2, recorded = 2, pages = 4")
            let ended = Self.flat(await prompt.run("fanouts", "show", "\(number)").output)
            let complete =
                "users 2 on complete pages, 2 new notifications pushes 2 sent to 2 users pages 4 complete rate"
            #expect(ended.contains(complete), "\(ended)")
        }
    }

    @Test("stop states how many pushes are sent and how many a worker has taken, after the workers observe the hold")
    func stopped() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", users: 4)
            let why = ["--by", "ada", "--because", "wrong prices"]
            let none = await prompt.run(["fanouts", "stop", "\(number)"] + why).output
            #expect(none.contains("None of its pushes is sent."), "\(none)")
            let outcomes: [(String, String, String?)] = [
                ("u1", "delivered", nil), ("u2", "sending", "window-full"), ("u3", "sending", nil),
                ("u4", "deferred", "provider-rests"),
            ]
            for (user, state, reason) in outcomes {
                try await servers.addOutcome(of: "e1", to: user, state: state, reason: reason)
            }
            let stopped = await prompt.run(["fanouts", "stop", "\(number)"] + why).output
            let gone = "Of its pushes, 1 is sent; 2 that workers have taken are sent or go behind the hold."
            #expect(Self.flat(stopped).contains(gone), "\(stopped)")
            let json = await prompt.run(["fanouts", "stop", "\(number)", "--json"] + why).output
            #expect(json.contains(#""results":{"users":4,"usersSent":1,"sent":1,"waiting":3,"#), "\(json)")
            #expect(json.contains(#""beingSent":2,"failed":0"#), "\(json)")
            #expect(json.contains(#""goneWords":"Of its pushes, 1 is sent; 2 that"#), "\(json)")
            let alone = await prompt.run("fanouts", "show", "\(number)").output
            let taken = "3 still waiting (2 taken by a worker that no longer runs, 1 provider-rests)"
            #expect(Self.flat(alone).contains(taken), "\(alone)")
            try await servers.addWorker()
            let shown = await prompt.run("fanouts", "show", "\(number)").output
            #expect(Self.flat(shown).contains("3 still waiting (2 being sent, 1 provider-rests)"), "\(shown)")
        }
    }

    private static func flat(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func with(_ body: @escaping @Sendable (Prompt, ServerFixture) async throws -> Void) async throws {
        try await DeadLetterPrompt.with([], body)
    }
}
