import CommandLineSupport
import TestSupport
import Testing

@testable import CLI
@testable import Commands

/// `bellhop help` and the help of every command and verb, as printed.
@Suite("Help, unchanged")
struct HelpGoldenTests {
    @Test("the overview and the help of each command and each verb are as stored")
    func help() async throws {
        try await Self.check([], as: "overview")
        for command in CommandLineTool.whole.commands {
            try await Self.check([command.name], as: command.name)
        }
        let verbs = [
            ("dead-letters", DeadLetterVerb.allCases.map(\.rawValue)), ("fanouts", FanoutVerb.allCases.map(\.rawValue)),
            ("retries", RetryVerb.allCases.map(\.rawValue)),
            ("providers", ProviderVerb.allCases.map(\.rawValue)),
            ("hold", HoldVerb.allCases.map(\.rawValue)),
        ]
        for (command, verbs) in verbs {
            for verb in verbs { try await Self.check([command, verb], as: "\(command)-\(verb)") }
        }
    }

    private static func check(_ words: [String], as name: String) async throws {
        let answer = await Prompt().run(words + ["--help"])
        #expect(answer.code == .done)
        #expect(answer.complaints.isEmpty)
        try Golden("help/\(name).txt").check(answer.output)
    }
}
