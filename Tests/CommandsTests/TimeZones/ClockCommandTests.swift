import CommandLineSupport
import Foundation
import ServiceRuntime
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop quiet and bellhop next-run")
struct ClockCommandTests {
    @Test("a quiet instant shows the local time, its end and a clock change in between")
    func quiet() async {
        let answer = await Prompt().run(ClockArguments.quiet("22", "7", "Europe/Oslo", "2026-03-28T23:30:00Z"))
        #expect(answer.code == .done)
        #expect(
            answer.output == """
                it is 2026-03-29 00:30 +01:00 in Europe/Oslo: quiet, by the hours from 22 to 7
                until 2026-03-29 07:00 +02:00, which is 2026-03-29T05:00:00.000Z
                the clocks go forward 1h in between, and then show 2026-03-29 03:00 +02:00
                """
        )
    }

    @Test(
        "an instant that is not quiet is not a failure",
        arguments: [("22", "by the hours from 21 to 22"), ("21", "since the hours from 21 to 21 are none")]
    )
    func notQuiet(end: String, why: String) async {
        let words = ClockArguments.quiet("21", end, "Etc/UTC", "2026-01-01T22:00:00Z")
        let answer = await Prompt().run(words)
        #expect(answer.code == .done)
        #expect(answer.output == "it is 2026-01-01 22:00 +00:00 in Etc/UTC: not quiet, \(why)")
        #expect(await Prompt().run(words + ["--json"]).output == #"{"quiet":false,"until":null}"#)
    }

    @Test("runs are shown in local time and UTC, with a note if a clock change moved one")
    func nextRun() async {
        let spring = await Prompt().run(
            ClockArguments.nextRun("02:30", "Europe/Oslo", "2026-03-28T12:00:00Z", "--count", "2")
        )
        #expect(spring.code == .done)
        #expect(
            spring.output == """
                sun 2026-03-29 03:00 +02:00  2026-03-29T01:00:00.000Z  there is no 02:30 on 2026-03-29: \
                the clocks skip it, this is the first instant after
                mon 2026-03-30 02:30 +02:00  2026-03-30T00:30:00.000Z
                """
        )
        let autumn = await Prompt().run(
            ClockArguments.nextRun("02:30", "Europe/Oslo", "2026-10-24T12:00:00Z", "--days", "sun")
        )
        #expect(
            autumn.output == """
                sun 2026-10-25 02:30 +02:00  2026-10-25T00:30:00.000Z  02:30 comes twice on 2026-10-25: \
                the clocks go back, this is the first one
                """
        )
    }

    @Test("docs/reference.md shows the output of the commands")
    func page() async throws {
        let path = Checkout.file("docs/reference.md")
        let page = try String(contentsOf: path, encoding: .utf8)
        for words in [
            ClockArguments.nextRun("02:30", "Europe/Oslo", "2026-03-28T12:00:00Z", "--count", "2"),
            ClockArguments.quiet("22", "7", "Europe/Oslo", "2026-03-28T23:30:00Z"),
        ] {
            let answer = await Prompt().run(words)
            #expect(page.contains("$ bellhop \(words.joined(separator: " "))\n\(answer.output)\n"))
        }
    }

    @Test("a time that never occurs again gives the answer no")
    func never() async {
        let words = ClockArguments.nextRun("12:00", "Etc/UTC", "9999-12-31T13:00:00Z")
        let answer = await Prompt().run(words)
        #expect(answer.code == .answerIsNo)
        #expect(answer.output == "never again before the year 9999 ends")
        #expect(await Prompt().run(words + ["--json"]).output == #"{"runs":[]}"#)
    }

    @Test(
        "a fault is reported in one line and exits with 64",
        arguments: [
            (
                ClockArguments.quiet("24", "7", "Etc/UTC", "2026-01-01T00:00:00Z"),
                "--start takes a whole number from 0 to 23; found 24"
            ),
            (
                ClockArguments.quiet("22", "x", "Etc/UTC", "2026-01-01T00:00:00Z"),
                "--end takes a whole number from 0 to 23; found x"
            ),
            (
                ClockArguments.quiet("22", "7", "../passwd", "2026-01-01T00:00:00Z"),
                "--timezone takes an IANA zone name"
            ),
            (ClockArguments.quiet("22", "7", "Europe/Olso", "2026-01-01T00:00:00Z"), "has no Europe/Olso"),
            (ClockArguments.quiet("22", "7", "localtime", "2026-01-01T00:00:00Z"), "has no localtime"),
            (ClockArguments.quiet("22", "7", "Etc/UTC", "2026-01-01"), "--at takes an RFC 3339 instant"),
            (["quiet", "--start", "22"], "--end is missing"),
            (["quiet", "22", "7"], "takes no operand"),
            (
                ClockArguments.nextRun("24:00", "Etc/UTC", "2026-01-01T00:00:00Z"),
                "--local takes a local time from 00:00 to 23:59"
            ),
            (
                ClockArguments.nextRun("09:00", "Etc/UTC", "2026-01-01T00:00:00Z", "--days", "mon,noday"),
                "found mon,noday"
            ),
            (ClockArguments.nextRun("09:00", "Etc/UTC", "2026-01-01T00:00:00Z", "--days", "mon,mon"), "each once"),
            (
                ClockArguments.nextRun("09:00", "Etc/UTC", "2026-01-01T00:00:00Z", "--days", "x"),
                "--days takes some of mon,tue"
            ),
            (ClockArguments.nextRun("09:00", "Etc/UTC", "2026-01-01T00:00:00Z", "--count", "0"), "from 1 to 1000"),
            (["next-run", "--local", "09:00", "--after", "2026-01-01T00:00:00Z"], "--timezone is missing"),
        ]
    )
    func usage(words: [String], says: String) async {
        let answer = await Prompt().run(words)
        #expect(answer.code == .usage)
        #expect(answer.output.isEmpty)
        #expect(answer.complaints.contains(says), "\(answer.complaints)")
        #expect(!answer.complaints.contains("\n"))
    }

    @Test("a host without the tz database is a configuration error")
    func noDatabase() async {
        let prompt = Prompt().with("TZDIR", "/nonexistent")
        let answer = await prompt.run(ClockArguments.quiet("22", "7", "Europe/Oslo", "2026-01-01T00:00:00Z"))
        #expect(answer.code == .configuration)
        #expect(answer.complaints.contains("there is no tz database in /nonexistent; install tzdata"))
    }
}

/// Command lines with all required options.
private enum ClockArguments {
    static func quiet(_ start: String, _ end: String, _ zone: String, _ instant: String) -> [String] {
        ["quiet", "--start", start, "--end", end, "--timezone", zone, "--at", instant]
    }

    static func nextRun(_ local: String, _ zone: String, _ after: String, _ more: String...) -> [String] {
        ["next-run", "--local", local, "--timezone", zone, "--after", after] + more
    }
}
