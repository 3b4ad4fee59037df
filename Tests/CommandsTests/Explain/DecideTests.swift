import BellhopRules
import CommandLineSupport
import Foundation
import ServiceRuntime
import TestSupport
import Testing

@testable import CLI
@testable import Commands

@Suite("bellhop decide")
struct DecideTests {
    private static let event =
        #"{"id":"e1","app":"drop","eventType":"security","data":{"device":"iPhone","place":"Oslo"}}"#
    private static let recipient = """
        {"userId": "ada", "timezone": "Europe/Oslo", "email": "ada@example.com",
         "preferences": {"quietHours": {"enabled": true, "startHour": 22, "endHour": 7}},
         "devices": [{"platform": "ios", "provider": "expo", "permission": "granted"},
                     {"platform": "android", "provider": "expo", "permission": "denied"}]}
        """

    /// Runs the command on files of a separate folder, without an environment, so that no server can be used.
    private func decide(
        event: String = Self.event,
        recipient: String = Self.recipient,
        catalog: String? = nil,
        _ more: String...
    ) async throws -> Prompt.Answer {
        try await CommandFolder.with { folder in
            func file(_ name: String, _ text: String) throws -> String {
                let path = folder.appendingPathComponent(name).path
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                return path
            }
            // The samples mute a type with mails, and the only one of drop is mandatory.
            let shipped = try String(
                contentsOf: folder.appendingPathComponent("catalogs/drop.json5"),
                encoding: .utf8
            ).replacing("mandatory: true,", with: "")
            let words = [
                "decide", "--catalog", try file("catalog.json5", catalog ?? shipped),
                "--event", try file("event.json", event), "--recipient", try file("recipient.json", recipient),
            ]
            return await Prompt().run(words + more)
        }
    }

    private struct Ruling: Decodable {
        let device: String?
        let rule: String?
        let outcome: String
        let reason: String?
        let until: String?
        let untilLocal: String?
    }

    private struct Words: Decodable {
        let language: String?
        let title: String
    }

    private struct Report: Decodable {
        let decidedAt: String
        let timezone: String?
        let inApp: Bool
        let preferencesRepaired: Bool
        let words: Words?
        let push: Ruling?
        let devices: [Ruling]
        let email: Ruling?
        let rules: [Ruling]
    }

    private func report(_ answer: Prompt.Answer, _ place: SourceLocation = #_sourceLocation) throws -> Report {
        #expect(answer.code == .done, "\(answer.complaints)", sourceLocation: place)
        return try JSONDecoder().decode(Report.self, from: Data(answer.output.utf8))
    }

    @Test("the text shows the channels, times, texts and reasons")
    func text() async throws {
        let answer = try await decide("--at", "2026-03-29T00:30:00Z")
        #expect(answer.code == .done)
        #expect(answer.complaints.isEmpty)
        let expected = [
            "security of drop, priority high, event e1",
            "decided at 2026-03-29 01:30 +01:00, which is 2026-03-29T00:30:00.000Z", "by the user's own clock",
            "In the app: yes", "title      Ny pålogging fra iPhone", "device 1, ios through expo: is sent immediately",
            "(no-permission)", "quiet-hours   send", "ios devices:",
        ]
        for words in expected { #expect(answer.output.contains(words), "\(words)\n\(answer.output)") }
        #expect(answer.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("the JSON has the same content and is the same at every run")
    func json() async throws {
        let event = Self.event.replacing("security", with: "qr_payment")
            .replacing("data", with: "title\":\"T\",\"body\":\"B\",\"data")
        let first = try await decide(event: event, "--at", "2026-03-29T00:30:00Z", "--json")
        let second = try await decide(event: event, "--at", "2026-03-29T00:30:00Z", "--json")
        #expect(first.output == second.output)
        let report = try report(first)
        #expect(report.inApp && report.push == nil && report.email == nil)
        #expect(report.preferencesRepaired)
        #expect(report.timezone == "Europe/Oslo")
        #expect(report.words?.title == "T" && report.words?.language == nil)
        #expect(report.devices.map(\.outcome) == ["wait", "suppress"])
        #expect(report.devices.map(\.reason) == ["quiet-hours", "no-permission"])
        #expect(report.devices.first?.until == "2026-03-29T05:00:00.000Z")
        #expect(report.devices.first?.untilLocal == "2026-03-29 07:00 +02:00", "the clocks go forward in between")
        #expect(report.rules.last?.rule == "permission" && report.rules.last?.outcome == "suppress")
        #expect(report.rules.first?.outcome == "pass")
    }

    @Test("a rule for all devices is shown once and for each device")
    func all() async throws {
        let recipient = Self.recipient.replacing(#""quietHours""#, with: #""enabled": false, "quietHours""#)
        let report = try report(try await decide(recipient: recipient, "--json"))
        #expect(report.push?.reason == "muted")
        #expect(report.devices.map(\.reason) == ["muted", "muted"])
        #expect(report.email?.reason == "muted")
    }

    @Test("an event with deliverAt is decided for that time")
    func later() async throws {
        let event = Self.event.replacing(#""id""#, with: #""deliverAt":"2026-03-29T12:00:00Z","id""#)
        let report = try report(try await decide(event: event, "--at", "2026-03-29T00:30:00Z", "--json"))
        #expect(report.decidedAt == "2026-03-29T12:00:00.000Z")
        let past = try await decide(event: event, "--at", "2026-04-01T00:00:00Z", "--json")
        #expect(try self.report(past).decidedAt == "2026-04-01T00:00:00.000Z")
    }

    @Test("an event without an app is for the catalogue's app")
    func withoutApp() async throws {
        let event = Self.event.replacing(#""app":"drop","#, with: "")
        let named = try await decide("--at", "2026-03-29T00:30:00Z")
        let unnamed = try await decide(event: event, "--at", "2026-03-29T00:30:00Z")
        #expect(unnamed.code == .done, "\(unnamed.complaints)")
        #expect(unnamed.output == named.output)
    }

    @Test("the user's follow counts for an event to a topic or without an audience")
    func follow() async throws {
        let muted = Self.recipient.replacing(#""userId""#, with: #""follow": {"muted": true}, "userId""#)
        let topic = Self.event.replacing(#""id""#, with: #""to":{"topic":"venue:42"},"id""#)
        let named = Self.event.replacing(#""id""#, with: #""to":{"user":"ada"},"id""#)
        #expect(try report(try await decide(event: topic, recipient: muted, "--json")).push?.reason == "topic-muted")
        #expect(try report(try await decide(recipient: muted, "--json")).push?.reason == "topic-muted")
        #expect(try report(try await decide(event: named, recipient: muted, "--json")).push == nil)
        #expect(try report(try await decide(event: topic, "--json")).push == nil)
    }

    @Test("an event without an audience has the audience of the catalogue, and is rejected without its value")
    func derived() async throws {
        let catalog = """
            {app: "venues", language: "en", timezone: "UTC", audience: {topic: "venue:{venueId}"},
             types: {offer: {priority: "normal", label: {en: "Offers"}}}}
            """
        let event = #"{"id":"e1","eventType":"offer","title":"T","venueId":"42"}"#
        let muted = Self.recipient.replacing(#""userId""#, with: #""follow": {"muted": true}, "userId""#)
        let answer = try await decide(event: event, recipient: muted, catalog: catalog, "--json")
        #expect(try report(answer).push?.reason == "topic-muted")
        let without = event.replacing(#","venueId":"42""#, with: "")
        let refused = try await decide(event: without, catalog: catalog)
        #expect(refused.code == .badInput)
        #expect(refused.complaints.contains("missing-audience at /venueId"), "\(refused.complaints)")
    }

    @Test("a read notification is not sent, and an unknown time zone is replaced by the app's")
    func otherFacts() async throws {
        let read = Self.recipient.replacing(#""userId""#, with: #""read": true, "userId""#)
        #expect(try report(try await decide(recipient: read, "--json")).push?.reason == "already-read")
        let mars = Self.recipient.replacing("Europe/Oslo", with: "Mars/Olympus_Mons")
        let answer = try await decide(recipient: mars)
        #expect(answer.output.contains("the tz database has no Mars/Olympus_Mons: the app's clock counts"))
    }

    @Test(
        "a fault of a file is reported in one line and exits with 65",
        arguments: [
            ("{", nil, nil, "refused, malformed-json"),
            (#"{"id":"e1","app":"drop","eventType":"security","data":{}}"#, nil, nil, "/data/device"),
            (#"{"app":"drop","eventType":"security"}"#, nil, nil, "missing-id"),
            (#"{"id":"e1","app":"dorp","eventType":"security"}"#, nil, nil, "unknown-app"),
            (
                #"{"id":"e1","app":"drop","eventType":"follow.added","userId":"u","topic":"t"}"#, nil, nil,
                "not an event"
            ),
            (#"{"id":"e1","app":"drop","eventType":"security","to":{"user":"bo"},"title":"T"}"#, nil, nil, "not for"),
            (nil, #"{"timezon": 1, "pushEnabled": "no"}"#, nil, "2 faults"),
            (nil, "[]", nil, "expected an object"),
            (nil, nil, #"{app: "drop"}"#, "/types: expected an object"),
        ] as [(String?, String?, String?, String)]
    )
    func faults(event: String?, recipient: String?, catalog: String?, says: String) async throws {
        let answer = try await decide(
            event: event ?? Self.event,
            recipient: recipient ?? Self.recipient,
            catalog: catalog
        )
        #expect(answer.code == .badInput)
        #expect(answer.output.isEmpty)
        #expect(answer.complaints.contains(says), "\(answer.complaints)")
        #expect(!answer.complaints.contains("\n"))
    }

    @Test(
        "an incomplete command line exits with 64",
        arguments: [
            (["--event", "-", "--recipient", "r"], "--catalog is missing"),
            (["--catalog", "c", "--event", "-", "--recipient", "-"], "only one of the files"),
            (["--catalog", "c", "--event", "e", "--recipient", "r", "--at", "soon"], "RFC 3339"),
            (["--catalog", "c", "--event", "e", "--recipient", "r", "now"], "takes no operand"),
        ]
    )
    func usage(words: [String], says: String) async {
        let answer = await Prompt().run(["decide"] + words)
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains(says), "\(answer.complaints)")
    }

    @Test("a missing file is bad input")
    func absent() async {
        let answer = await Prompt().run(["decide", "--catalog", "/none", "--event", "/none", "--recipient", "/none"])
        #expect(answer.code == .badInput)
        #expect(answer.complaints.contains("cannot be read"))
    }
}
