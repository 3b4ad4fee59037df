import CommandLineSupport
import Foundation
import ServiceRuntime
import Settings
import TestSupport
import Testing

@testable import CLI

@Suite("Manual and completions")
struct ManualTests {
    /// Returns a page without the escapes of its language.
    private func plain(_ page: String) -> String {
        page.replacing("\\-", with: "-").replacing("\\(aq", with: "'").replacing("\\e", with: "\\")
    }

    @Test("every command has a page with its summary, its synopsis and all its options")
    func pages() async {
        for command in CommandLineTool.whole.commands {
            let answer = await Prompt().run("manual", command.name)
            let page = plain(answer.output)
            #expect(answer.code == .done)
            #expect(page.hasPrefix(".TH \"BELLHOP-\(command.name.uppercased())\" 1"))
            #expect(page.contains(command.summary), "\(command.name)")
            for usage in command.synopsis { #expect(page.contains(usage), "\(command.name)") }
            for option in command.options {
                #expect(page.contains("\\fB--\(option.name)\\fR"), "\(command.name)")
                #expect(page.contains(option.help), "\(command.name)")
            }
        }
    }

    @Test("the page of bellhop names every command, setting and exit code")
    func overview() async {
        let page = plain(await Prompt().run("manual").output)
        for command in CommandLineTool.whole.commands { #expect(page.contains("bellhop-\(command.name)(1)")) }
        for setting in Setting.all { #expect(page.contains("\\fB\(setting.environmentName)\\fR")) }
        for code in ExitCode.allCases { #expect(page.contains("\\fB\(code.rawValue)\\fR\n\(code.meaning)")) }
    }

    @Test("no line of a page begins with an unintended roff request")
    func orders() async {
        let known: Set<Substring> = [".TH", ".SH", ".TP", ".PP", ".B", ".BR", ".I"]
        for name in CommandLineTool.whole.commands.map({ $0.name }) {
            let page = await Prompt().run("manual", name).output
            let orders = page.split(separator: "\n").filter { $0.hasPrefix(".") || $0.hasPrefix("'") }
            let words = Set(orders.compactMap { $0.split(separator: " ").first })
            #expect(words.subtracting(known).isEmpty, "\(name)")
        }
    }

    @Test("the list of pages matches the list of commands, and an unknown page is rejected with the nearest")
    func names() async {
        let listed = await Prompt().run("manual", "--list").output.split(separator: "\n").map { String($0) }
        let expected = CommandLineTool.whole.commands.map { $0.name }
        #expect(listed == expected)
        let answer = await Prompt().run("manual", "schedular")
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains("did you mean scheduler?"))
        let shell = await Prompt().run("completions", "tcsh")
        #expect(shell.code == .usage)
    }

    @Test(
        "bash completes commands, verbs, options, settings and known values",
        arguments: [
            (["sche"], ["scheduler"]),
            (["topology", ""], ["apply", "check"]),
            (["dlq", "aud"], ["audit"]),
            (["hold", ""], ["list", "add", "release", "discard"]),
            (["hold", "discard", "--ev"], ["--event"]),
            (["worker", "--lan"], ["--lanes"]),
            (["scheduler", "--metrics"], ["--metrics-listen"]),
            (["bench", "--pushes", "o"], ["off", "on"]),
            (["worker", "--lanes", ""], []),
        ] as [([String], [String])]
    )
    func bash(typed: [String], expected: [String]) async throws {
        let script = await Prompt().run("completions", "bash").output
        let words = typed.map { "'\($0)'" }.joined(separator: " ")
        let line =
            "COMP_WORDS=(bellhop \(words)) COMP_CWORD=\(typed.count); _bellhop; printf '%s\\n' \"${COMPREPLY[@]}\""
        let found = try Self.run("/bin/bash", script + "\n" + line).split(separator: "\n").map { String($0) }
        #expect(found == expected)
    }

    @Test("bash completes files where an argument is a file")
    func files() async throws {
        let script = await Prompt().run("completions", "bash").output
        for typed in ["publish", "sandbox --ca-out", "worker --catalogs", "dead-letters list --output"] {
            let count = typed.split(separator: " ").count + 1
            let line =
                "cd /etc; COMP_WORDS=(bellhop \(typed) hostn) COMP_CWORD=\(count); _bellhop; echo ${COMPREPLY[*]}"
            let found = try Self.run("/bin/bash", script + "\n" + line)
            #expect(found.contains("hostname"), "\(typed)")
        }
    }

    @Test("zsh and fish complete every command and option", arguments: ["zsh", "fish"])
    func others(shell: String) async {
        let script = await Prompt().run("completions", shell).output
        for command in CommandLineTool.whole.commands {
            #expect(script.contains(shell == "zsh" ? "'\(command.name):" : "-a \(command.name) "))
            for option in command.options {
                #expect(script.contains(shell == "zsh" ? "*--\(option.name)[" : "-l \(option.name) "))
            }
        }
    }

    private static func run(_ shell: String, _ script: String) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: shell)
        process.arguments = ["--norc", "-c", script]
        process.standardOutput = output
        try process.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: said, as: UTF8.self)
    }
}
