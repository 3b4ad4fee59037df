import CommandLineSupport
import Foundation
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@Suite(
    "Output that cannot be written",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .enabled(if: RunningPool.isBuilt, "needs the program bellhop next to the tests: swift build"),
    .timeLimit(.ofTest)
)
struct FailedWriteTests {
    private static let reading = [
        "--help", "worker --help", "status", "dead-letters list", "dead-letters list --json", "check-config",
        "dead-letters export --by ada --because x",
    ]

    private static func withProgram(_ body: @escaping @Sendable (RealProgram, ServerFixture) async throws -> Void)
        async throws
    {
        try await ServerFixture.withTopology { servers in
            let letters = ["a-letter", "b-letter", "c-letter"].map { DeadLetterSamples.rejected($0) }
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in try await body(RealProgram(prompt), servers)
            }
        }
    }

    @Test("a full disk gives one line and exits 75", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func full() async throws {
        try await Self.withProgram { program, _ in
            for words in Self.reading {
                let (ending, complaints) = try await program.run("bellhop \(words) >/dev/full")
                #expect(ending == .exited(ExitCode.tryAgain.rawValue), "\(words): \(complaints)")
                #expect(complaints.hasPrefix("bellhop: printing on stdout: No space left on device; "), "\(words)")
                #expect(complaints.split(separator: "\n").count == 1, "\(words): \(complaints)")
                let (both, _) = try await program.run("bellhop \(words) >/dev/full 2>&1")
                #expect(both == .exited(ExitCode.tryAgain.rawValue), "\(words)")
            }
        }
    }

    @Test("a reader that closes the pipe, or a closed stdout, ends the program without a message")
    func unheard() async throws {
        try await Self.withProgram { program, _ in
            for words in Self.reading {
                // A pipe whose reader has opened and closed it.
                let pipe = "p=$(mktemp -u); mkfifo $p; { : <$p; } & exec 3>$p; wait; rm $p; "
                for line in [pipe + "bellhop \(words) >&3", "bellhop \(words) >&-"] {
                    let (ending, complaints) = try await program.run(line)
                    #expect(ending == .exited(0), "\(line)")
                    #expect(complaints.isEmpty, "\(line): \(complaints)")
                }
                let (ending, _) = try await program.run("bellhop \(words) >&- 2>&- <&-")
                #expect(ending == .exited(0), "\(words)")
            }
        }
    }

    @Test("an action whose output cannot be written is still completed")
    func act() async throws {
        try await Self.withProgram { program, servers in
            let words = "dead-letters discard a-letter --yes --by ada --because x"
            let (ending, complaints) = try await program.run("bellhop \(words) >/dev/full")
            #expect(ending == .exited(ExitCode.tryAgain.rawValue))
            #expect(complaints.contains("the command completed"))
            let state = try await servers.column("SELECT state FROM dead_letters WHERE dead_id = 'a-letter'")
            #expect(state == ["discarded"])
        }
    }

    @Test(
        "a terminal that hangs up at a question changes nothing",
        arguments: ["discard --all", "replay --all", "export"]
    )
    func hangUp(verb: String) async throws {
        try await Self.withProgram { program, servers in
            let terminal = try PseudoTerminal()
            let child = try program.start(
                "bellhop dead-letters \(verb) <'\(terminal.path)' >'\(terminal.path)' 2>'\(terminal.path)'"
            )
            try await terminal.wait(for: verb == "export" ? "Why? (for the audit) " : "to go on: ")
            terminal.hangUp()
            let ending = await child.ending()
            let isOrderly = [ExitCode.answerIsNo, .usage].contains { ending == .exited($0.rawValue) }
            #expect(isOrderly, "\(ending)")
            let open = try await servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            let noted = try await servers.count("SELECT count(*) FROM audit")
            #expect(open == 3)
            #expect(noted == 0)
        }
    }

    @Test("an editor reads from the terminal, handles Ctrl-C, and its text is kept readable only by its owner")
    func editor() async throws {
        try await ServerFixture.withTopology { servers in
            let body = #"{"id":"e1","app":"drop","eventType":"system","title":"wrong","body":"b"}"#
            let letter = DeadLetterSamples.rejected("a-letter", reason: "missing-audience", app: "drop", body: body)
            _ = try await DeadLetterStore(pool: servers.pool).file([letter])
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("editor"))
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let script = folder.appendingPathComponent("editor.sh").path
            let words = "trap 'echo interrupted' INT; echo what?; read -r a || read -r a; sed -i \"s/wrong/$a/\" \"$1\""
            try words.write(toFile: script, atomically: true, encoding: .utf8)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let own = prompt.with("EDITOR", "sh '\(script)'").with("TMPDIR", folder.path)
                let terminal = try PseudoTerminal()
                let command = "dead-letters edit a-letter --dry-run --by ada --because x"
                let child = try RealProgram(own).start(
                    """
                    exec setsid --ctty --wait '\(RunningPool.executable)' \(command) \
                        <'\(terminal.path)' >'\(terminal.path)' 2>&1
                    """
                )
                try await terminal.wait(for: "what?")
                terminal.press(control: "C")
                try await terminal.wait(for: "interrupted")
                terminal.type("right")
                let ending = await child.ending()
                let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                    .filter { $0 != "editor.sh" }
                let draft = folder.appendingPathComponent(left.first ?? "").path
                #expect(left.count == 1, "\(ending) \(left) \(terminal.text)")
                #expect(left.first?.hasPrefix("bellhop-edit-aletter-") == true, "\(left)")
                #expect(terminal.text.contains(draft))
                let text = try String(contentsOfFile: draft, encoding: .utf8)
                let rights = try FileManager.default.attributesOfItem(atPath: draft)[.posixPermissions] as? Int
                #expect(text.contains("right"))
                #expect(rights == 0o600)
            }
        }
    }

    @Test("a terminal gets no control sequence from a dead letter, and the prompt is plain text")
    func terminal() async throws {
        try await ServerFixture.withTopology { servers in
            let hostile = "\u{1B}]52;c;aGk=\u{7}\u{9B}2J\u{202E}"
            let letter = DeadLetterSamples.rejected("a-letter", reason: "r" + hostile, app: "drop" + hostile)
            _ = try await DeadLetterStore(pool: servers.pool).file([letter])
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let program = RealProgram(prompt.with("NO_COLOR", "1"))
                for words in ["groups", "list", "list --json", "show a-letter", "export --by ada --because x"] {
                    let terminal = try PseudoTerminal()
                    let ending = try await program.run("dead-letters \(words)", at: terminal)
                    let text = terminal.text
                    let marks = text.unicodeScalars.filter { ["\u{1B}", "\u{7}", "\u{9B}", "\u{202E}"].contains($0) }
                    #expect(ending == .exited(0), "\(text)")
                    #expect(text.contains(#"drop\u001b]52"#) || text.contains(#"r\u001b]52"#), "\(words): \(text)")
                    #expect(marks.isEmpty, "\(words)")
                }
                let terminal = try PseudoTerminal()
                let child = try program.start(
                    "bellhop dead-letters discard --all --by ada --because x <'\(terminal.path)' >'\(terminal.path)' 2>&1"
                )
                try await terminal.wait(for: "Type 1 to go on: ")
                terminal.type("1")
                #expect(await child.ending() == .exited(0))
                #expect(terminal.text.contains("Discarded 1 item (act 2). bellhop dead-letters undo 2 reverts it."))
            }
        }
    }
}
