import BellhopRules
import Foundation
import Testing

@Suite("Client kit")
struct ClientKitTests {
    private static func rules() throws -> LocalRules {
        let platform = try #require(TimeZone(identifier: "Europe/Stockholm"))
        let zone = try #require(Zone.ofPlatform(platform, from: at("2026-01-01T00:00:00Z")))
        return LocalRules(schema: try PreferenceTests.schema(), zone: zone)
    }

    @Test(
        "the page contains the exact code that is compiled and tested here",
        arguments: ["ClientKitExample", "ClientKitZone"]
    )
    func page(file: String) throws {
        let code = try Repository.text("Tests/BellhopRulesTests/Client/\(file).swift")
        #expect(try Repository.text("docs/client-kit.md").contains("```swift\n\(code)```"))
    }

    @Test("the page about the inbox contains the exact code that is compiled and tested here")
    func inboxPage() throws {
        let code = try Repository.text("Tests/BellhopRulesTests/Client/InboxRowExample.swift")
        #expect(try Repository.text("docs/inbox.md").contains("```swift\n\(code)```"))
    }

    @Test("the page's table of repairs matches the code")
    func table() throws {
        let rows = try Repository.text("docs/client-kit.md").split(separator: "\n")
            .filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|").map { $0.trimmingPrefix(" ") } }
            .filter { $0.count >= 2 && $0[1].first?.isNumber ?? false }
        #expect(rows.count == 9)
        for row in rows {
            let value = row[0].split(separator: "`")[0]
            let document = try PreferenceTests.parse(#"{"quietHours": {"startHour": \#(value)}}"#)
            let hour = PreferenceDocument(normalizing: document, schema: try PreferenceTests.schema()).quietHours
                .startHour
            #expect(row[1].prefix(while: \.isNumber) == "\(hour)", "\(value)")
        }
    }

    @Test("a disabled or unknown type is muted, quiet hours return their end, and any other notification is shown")
    func answers() throws {
        let rules = try Self.rules()
        let match = try #require(EventType(validating: "scheduled_match_new"))
        let night = try at("2026-02-15T22:30:00Z")
        let quiet: JSONValue = ["quietHours": ["enabled": true]]
        #expect(rules.answer(for: match, stored: nil, now: night) == .show)
        #expect(rules.answer(for: match, stored: ["enabled": false], now: night) == .muted)
        #expect(
            rules.answer(for: match, stored: ["eventToggles": ["scheduled_match_new": false]], now: night) == .muted
        )
        #expect(try rules.answer(for: match, stored: quiet, now: night) == .quiet(until: at("2026-02-16T06:00:00Z")))
        #expect(try rules.answer(for: match, stored: quiet, now: at("2026-02-15T12:00:00Z")) == .show)
        let unknown = try #require(EventType(validating: "no_such_type"))
        #expect(rules.answer(for: unknown, stored: nil, now: night) == .muted)
    }

    @Test("a reminder inside the quiet hours fires at their end, across a change of the clocks")
    func reminder() throws {
        let rules = try Self.rules()
        let hours = QuietHours(enabled: true, startHour: 22, endHour: 7)
        let time = try #require(LocalTime(validating: "02:30"))
        let after = try at("2026-03-28T12:00:00Z")
        #expect(try rules.nextReminder(at: time, quietHours: hours, after: after) == at("2026-03-29T05:00:00Z"))
        #expect(try rules.nextReminder(at: time, quietHours: .usual, after: after) == at("2026-03-29T01:00:00Z"))
    }

    /// The targets that an app links, with the allowed imports of each and its minimum number of files.
    private static let rooms: [(room: String, allowed: [Substring], fewest: Int)] = [
        ("BellhopRules", ["Foundation", "BellhopJSON"], 50), ("BellhopJSON", [], 10),
    ]

    @Test("a target in apps imports only Foundation and BellhopJSON, and BellhopJSON nothing", arguments: rooms)
    func imports(room: String, allowed: [Substring], fewest: Int) throws {
        let root = Repository.path("Sources/\(room)")
        var files = 0
        for path in try FileManager.default.subpathsOfDirectory(atPath: root) where path.hasSuffix(".swift") {
            let words = try Repository.text("Sources/\(room)/\(path)").split(separator: "\n")
                .filter { !$0.contains("//") }.map { $0.split(separator: " ") }
            let imports = words.filter { $0.contains("import") }.compactMap(\.last)
            let isAllowed = imports.allSatisfy { allowed.contains($0) }
            #expect(isAllowed, "\(path)")
            files += 1
        }
        #expect(files > fewest)
        let manifest = try Repository.text("Package.swift")
        #expect(manifest.contains(#"library("BellhopJSON"),"#))
        #expect(manifest.contains(#"library("BellhopRules", ["BellhopJSON"]),"#))
        #expect(manifest.contains(#".library(name: "BellhopRules", targets: ["BellhopRules"])"#))
    }
}
