import CommandLineSupport
import Pipeline
import ServiceRuntime
import Store
import Testing

@testable import CLI

@Suite("Command line")
struct CommandLineTests {
    @Test(
        "a call without arguments, or for help, lists every command",
        arguments: [[], ["help"], ["--help"], ["-h"]]
    )
    func overview(words: [String]) async {
        let answer = await Prompt().run(words)
        #expect(answer.code == .done)
        for command in CommandLineTool.whole.commands {
            #expect(answer.output.contains("  \(command.name) "))
            #expect(answer.output.contains(command.summary))
        }
    }

    @Test("every command's help names it and all its options")
    func help() async {
        for command in CommandLineTool.whole.commands {
            let answer = await Prompt().run(command.name, "--help")
            #expect(answer.code == .done)
            #expect(answer.output.contains("bellhop \(command.name)"))
            for option in command.options { #expect(answer.output.contains("--\(option.name)"), "\(command.name)") }
        }
    }

    @Test("help is at most 100 characters wide, the list of commands at most 120, and no bracket is split")
    func widths() async {
        let overview = await Prompt().run("help").output
        #expect(overview.split(separator: "\n").allSatisfy { $0.count <= 120 })
        for command in CommandLineTool.whole.commands {
            let help = await Prompt().run(command.name, "--help").output
            for line in help.split(separator: "\n") {
                #expect(line.count <= 100, "\(line)")
                #expect(line.filter { $0 == "[" }.count == line.filter { $0 == "]" }.count, "\(line)")
            }
        }
    }

    @Test(
        "words are wrapped with the given indent, or below the first word, and none is cut",
        arguments: [
            (nil, ["-> aa bb", "   cc", "   ddddddddd", "   e"]),
            (1, ["-> aa bb", " cc", " ddddddddd", " e"]),
        ] as [(Int?, [String])]
    )
    func lines(_ indent: Int?, _ expected: [String]) {
        let words = "aa bb cc ddddddddd e".split(separator: " ")
        #expect(words.lines(of: 8, behind: "-> ", indent: indent) == expected)
        #expect("".split(separator: " ").lines(of: 8, behind: "-> ") == ["-> "])
    }

    @Test("version shows the version, the schema and the form of messages")
    func version() async {
        let answer = await Prompt().run("version")
        let (schema, form) = (Migration.all.schemaNumber, MessageVersion.newest)
        let words = "bellhop \(BuildInfo.version) (schema \(schema), messages \(form))"
        #expect(answer.output == words)
    }

    @Test(
        "an unknown command is rejected with the nearest one",
        arguments: [("statsu", "status"), ("pol", "pool")]
    )
    func unknownCommand(typed: String, meant: String) async {
        let answer = await Prompt().run(typed)
        #expect(answer.code == .usage)
        #expect(answer.output.isEmpty)
        #expect(answer.complaints.contains("did you mean \(meant)?"))
    }

    @Test(
        "a wrong command line exits with 64 and one line that names the fault",
        arguments: [
            (["worker", "--lane", "urgent"], "did you mean --lanes?"),
            (["worker", "--lanes", "urgent,fast"], "found urgent,fast"),
            (["worker", "--lanes", "urgent,urgent"], "each once"),
            (["worker", "--number", "-1"], "whole number from 0"),
            (["worker", "--until-stdin-ends=yes"], "takes no value"),
            (["worker", "now"], "takes no operand"),
            (["pool"], "--workers is missing"),
            (["pool", "--workers", "0"], "from 1 to 100"),
            (["pool", "--workers", "101"], "from 1 to 100"),
            (["pool", "--workers", "two"], "found two"),
            (["pool", "--workers"], "needs a value"),
            (["status", "now"], "takes no operand"),
            (["topology"], "expected apply or check"),
            (["topology", "aply"], "expected apply or check"),
            (["publish"], "expected one file"),
            (["validate", "a", "b"], "expected one file"),
            (["publish", "-", "--amqp-urk-file", "x"], "did you mean --amqp-url-file?"),
        ] as [([String], String)]
    )
    func usage(words: [String], says: String) async {
        let answer = await Prompt().run(words)
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains(says), "\(answer.complaints)")
        #expect(!answer.complaints.contains("\n"))
    }

    @Test("a command without a required setting exits with 78 and names it")
    func missingSetting() async {
        let answer = await Prompt().run("status")
        #expect(answer.code == .configuration)
        #expect(answer.complaints.contains("BELLHOP_AMQP_URL"))
        #expect(answer.complaints.contains("BELLHOP_DATABASE_URL"))
    }
}
