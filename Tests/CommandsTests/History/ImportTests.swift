import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop import notifications",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ImportTests {
    private static let valid = [
        #"{"app":"drop","userId":"ada","id":"old-1","type":"security","title":"One","body":"b","#
            + #""createdAt":"2026-02-15T13:45:00Z","readAt":"2026-02-15T14:00:00Z"}"#,
        #"{"app":"drop","userId":"ada","key":"old-2","type":"security","title":"Two","body":"b","read":true,"#
            + #""createdAt":"2026-03-15T13:45:00+01:00","link":{"web":"/a","mobile":"/b"},"data":{"n":"1"}}"#,
        #"{"app":"drop","userId":"bo","id":"old-1","type":"security","title":"Three","body":"b","#
            + #""createdAt":"2026-04-15T13:45:00Z","route":"/r"}"#,
    ]

    private static func write(_ lines: [String], to folder: URL) throws -> String {
        let file = folder.appendingPathComponent("history.jsonl")
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        return file.path
    }

    @Test("notifications are written with their times and without deliveries, and a second run changes nothing")
    func imports() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let prompt = prompt.with("BELLHOP_RETENTION", "notifications=3650d")
                let file = try Self.write(Self.valid, to: folder)
                let first = await prompt.run("import", "notifications", file)
                #expect(first.code == .done)
                #expect(first.output == "imported 3 of 3 notifications")
                let rows = try await servers.column(
                    """
                    SELECT concat_ws('|', user_id, event_id, title, extract(epoch FROM created_at)::bigint,
                               extract(epoch FROM read_at)::bigint, link ->> 'web', link ->> 'mobile')
                    FROM notifications ORDER BY created_at
                    """
                )
                #expect(
                    rows == [
                        "ada|old-1|One|1771163100|1771164000|/profile/security|/(tabs)/profile",
                        "ada|old-2|Two|1773578700|1773578700|/a|/b", "bo|old-1|Three|1776260700|/r|/r",
                    ]
                )
                let deliveries = try await servers.column("SELECT count(*)::text FROM ledger")
                #expect(deliveries == ["0"])
                let badges = try await servers.column("SELECT count(*)::text FROM badge_updates")
                #expect(badges == ["0"])
                let again = await prompt.run("import", "notifications", file, "--json")
                #expect(again.code == .done)
                #expect(
                    again.output
                        == #"{"lines":3,"imported":0,"existing":3,"erased":0,"tooOld":0,"invalid":0}"#
                )
            }
        }
    }

    @Test("each invalid line is named with its number and a pointer, and the others are imported")
    func invalid() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let prompt = prompt.with("BELLHOP_RETENTION", "notifications=3650d")
                let start = #"{"app":"drop","userId":"ada","id":"x","type":"security","title":"t","body":"b","#
                let bad = [
                    "not JSON", "[1]", #"{"userId":"ada"}"#, #"{"app":"nosuch"}"#, start + #""createdAt":"yesterday"}"#,
                    start + #""createdAt":"2999-01-01T00:00:00Z"}"#,
                    start + #""createdAt":"2026-01-01T00:00:00Z","read":"yes"}"#,
                    start + #""createdAt":"2026-01-01T00:00:00Z","data":7}"#,
                    start + #""createdAt":"2026-01-01T00:00:00Z","link":{"web":"http://other"}}"#,
                    #"{"app":"drop","userId":"ada","key":7,"type":"security"}"#,
                    #"{"app":"drop","userId":"ada","key":"k","type":"nosuch"}"#,
                    #"{"text":"\#(String(repeating: "x", count: 300_000))"}"#,
                ]
                let file = try Self.write(bad + [""] + Self.valid, to: folder)
                let answer = await prompt.run("import", "notifications", file)
                #expect(answer.code == .badInput)
                #expect(answer.output.hasPrefix("imported 3 of 15 notifications\n12 are invalid"))
                let places = answer.complaints.split(separator: "\n").map { line in
                    line.split(separator: ":").prefix(2).joined(separator: ":")
                }
                let expected = [
                    "line 1: unexpected character (column 2)", "line 2: expected an object", "line 3: at /app",
                    "line 4: at /app", "line 5: at /createdAt", "line 6: at /createdAt", "line 7: at /read",
                    "line 8: at /data", "line 9: at /link/web", "line 10: at /key", "line 11: at /type",
                    "line 12: longer than 262144 bytes",
                ]
                #expect(places == expected)
            }
        }
    }

    @Test("notifications beyond the retention period and those of erased users are counted and left out")
    func leftOut() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.apply(#"{"userId":"bo"}"#, as: "recipient.deleted")
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let prompt = prompt.with("BELLHOP_RETENTION", "notifications=3650d")
                let old = #"{"app":"drop","userId":"ada","id":"x","type":"security","title":"t","body":"b","#
                let lines = Self.valid + [old + #""createdAt":"1999-01-01T00:00:00Z"}"#]
                let file = try Self.write(lines, to: folder)
                let answer = await prompt.run("import", "notifications", file, "--json")
                #expect(
                    answer.output
                        == #"{"lines":4,"imported":2,"existing":0,"erased":1,"tooOld":1,"invalid":0}"#
                )
            }
        }
    }

    @Test("a wrong operand, a missing file and --from-line")
    func commandLine() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let prompt = prompt.with("BELLHOP_RETENTION", "notifications=3650d")
                let misuse = await prompt.run("import", "users", "x")
                #expect(misuse.code == .usage)
                let missing = await prompt.run("import", "notifications", "/nonexistent")
                #expect(missing.code == .badInput)
                let file = try Self.write(Self.valid, to: folder)
                let rest = await prompt.run("import", "notifications", file, "--from-line", "3")
                #expect(rest.output == "imported 1 of 1 notification")
            }
        }
    }
}

@Suite("Lines of a file")
struct LineReaderTests {
    @Test("lines are returned with their numbers, across the pieces of the file, also without a line end at the end")
    func lines() throws {
        let long = String(repeating: "y", count: 100_000)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("lines"))
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("one\n\n\(long)\n\(long)\(long)\nlast".utf8).write(to: file)
        var reader = try #require(LineReader(path: file.path, limit: 150_000))
        var found: [(Int, Int?)] = []
        while let line = try reader.next() { found.append((line.number, line.bytes?.count)) }
        let expected: [(Int, Int?)] = [(1, 3), (2, 0), (3, 100_000), (4, nil), (5, 4)]
        #expect(found.count == expected.count)
        let isEqual = zip(found, expected).allSatisfy { one, other in one == other }
        #expect(isEqual, "\(found)")
        let nothing = LineReader(path: "/nonexistent", limit: 1)
        #expect(nothing == nil)
    }
}
