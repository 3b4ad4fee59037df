import AMQP
import CommandLineSupport
import Foundation
import IntegrationSupport
import Pipeline
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Untrusted text on a terminal",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct HostileTextTests {
    /// Sets the clipboard, clears the screen in both notations, changes the direction, hides text and begins a line.
    private static let hostile =
        "x\u{1B}]52;c;aGk=\u{7}\u{1B}[2J\u{9B}2J\u{7F}\u{202E}\u{2066}\u{200F}\u{61C}\u{200B}\u{2028}\r\nAll is well."

    private static let because: [String] = ["--by", "ada\(hostile)", "--because", "why\(hostile)"]

    private static let looks: [[String]] = [
        ["groups"], ["list"], ["list", "--state", "all"], ["list", "--app", hostile], ["show", "hostile-1"],
        ["show", "nosuch\(hostile)"], ["replay", "--dry-run"], ["replays"], ["replays", "1"], ["audit"],
    ]

    private static let reasoned: [[String]] = [["show", "hostile-1", "--reveal"], ["export"]]

    private static let acts: [[String]] = [
        ["edit", "hostile-1", "--set", "/a\(hostile)=1"],
        ["edit", "hostile-1", "--set", "/title=\(hostile)", "--routing-key", "k\(hostile)"], ["note", "hostile-1"],
        ["discard", "hostile-1"], ["restore", "hostile-1"], ["replay", "hostile-2", "--detach"],
    ]

    @Test("no command prints a control character from a dead letter, as text or JSON")
    func deadLetters() async throws {
        try await DeadLetterPrompt.with([try Self.letter("hostile-1"), try Self.letter("hostile-2")]) {
            prompt,
            servers in
            for words in Self.looks { Self.check(await prompt.run(["dead-letters"] + words), words) }
            for words in Self.reasoned { Self.check(await prompt.run(["dead-letters"] + words + Self.because), words) }
            for words in Self.acts {
                Self.check(await prompt.run(["dead-letters"] + words + ["--yes"] + Self.because), words)
            }
            for words in Self.looks {
                Self.check(await prompt.run(["dead-letters"] + words), words)
                Self.check(await prompt.run(["dead-letters"] + words + ["--json"]), words)
            }
            let user = "u" + Self.hostile
            let event = "e" + Self.hostile
            for words in [["explain", "--app", "drop", "--user", user, "--event", event], ["status"]] {
                Self.check(await prompt.run(words), words)
                Self.check(await prompt.run(words + ["--json"]), words)
            }
            // The output above was escaped, and the stored text is unchanged.
            let kept = try await servers.column("SELECT reason FROM dead_letters WHERE dead_id = 'hostile-2'")
            #expect(kept == ["r" + Self.hostile])
        }
    }

    @Test("a dead letter in the broker's queue prints no control character either")
    func queue() async throws {
        try await ServerFixture.withTopology { servers in
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
            publisher.start()
            var properties = MessageProperties(contentType: "application/json")
            properties.messageID = "m" + Self.hostile
            properties.appID = "a" + Self.hostile
            properties.type = "t" + Self.hostile
            properties.headers = ["x-note": .string(Self.hostile)]
            let letter = OutgoingMessage(
                exchange: servers.names.dead,
                routingKey: "drop." + Self.hostile,
                properties: properties,
                body: Array(Self.hostile.utf8)
            )
            #expect(await publisher.publish([letter]) == [.confirmed])
            await publisher.close()
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                for words in [["list"], ["list", "--json"], ["export"]] {
                    Self.check(await prompt.run(["dead-letters", "--from-queue"] + words), words)
                }
            }
        }
    }

    @Test("a printed export contains the same values as one in a file")
    func export() async throws {
        try await DeadLetterPrompt.with([try Self.letter("hostile-1")]) { prompt, _ in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
            defer { try? FileManager.default.removeItem(atPath: file) }
            let words = ["dead-letters", "export", "--by", "ada", "--because", "x"]
            let printed = await prompt.run(words)
            let written = await prompt.run(words + ["--output", file])
            #expect(written.code == .done, "\(written.complaints)")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
            let inFile = try #require(JSONSerialization.jsonObject(with: bytes) as? NSDictionary)
            let onPaper = try #require(
                JSONSerialization.jsonObject(with: Data(printed.output.utf8)) as? NSDictionary
            )
            #expect(inFile == onPaper)
            #expect(inFile["app"] as? String == "a" + Self.hostile)
        }
    }

    /// Checks that the output contains no control character and no line that begins with the dead letter's text.
    private static func check(_ answer: Prompt.Answer, _ words: [String]) {
        let text = answer.output + "\n" + answer.complaints
        let marks = text.unicodeScalars.filter { scalar in
            let isControl = scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
            let isFormat = scalar.properties.generalCategory == .format && scalar != "\u{200D}"
            return isControl || isFormat || scalar == "\u{2028}"
        }
        let numbers = marks.map { String($0.value, radix: 16) }
        let forged = text.split(separator: "\n").filter { $0.hasPrefix("All is well") && words[0] != "status" }
        #expect(numbers.isEmpty, "\(words[0]) \(words.last ?? ""): \(numbers)")
        #expect(forged.isEmpty, "\(words[0])")
    }

    private static func letter(_ id: String) throws -> DeadLetterItem {
        let document: [String: Any] = [
            "id": "e" + hostile, "title": hostile, "body": hostile, "to": ["user": "u"],
            "data": ["k" + hostile: hostile],
        ]
        let headers = try JSONSerialization.data(withJSONObject: ["h" + hostile: hostile])
        var cause = DeadLetterCause(.intake, reason: "r" + hostile, pointer: "/p" + hostile, error: "e" + hostile)
        cause.provider = "p" + hostile
        cause.app = "a" + hostile
        cause.eventType = "t" + hostile
        cause.eventID = "e" + hostile
        cause.user = "u" + hostile
        return DeadLetterItem(
            id,
            cause,
            failedAt: DeadLetterSamples.now,
            origin: .init(
                exchange: "x" + hostile,
                routingKey: "k" + hostile,
                properties: [UInt8](headers),
                headers: [UInt8](headers),
                body: [UInt8](try JSONSerialization.data(withJSONObject: document))
            ),
            contentHash: Array(id.utf8)
        )
    }
}
