import AMQP
import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Pipeline
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Truncated dead letters",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct TruncatedDeadLetterTests {
    private static let whole = #"{"id":"g1","to":{"user":"u1"},"title":"t","body":"b"}"#

    /// Stores a dead letter whose remaining beginning is a valid event, and a complete one.
    private static func file(on pipeline: PipelineFixture) async throws {
        try await DeadLetterFixture.file([("whole", whole), ("cut", whole.replacing("g1", with: "g2"))], on: pipeline)
        _ = try await pipeline.servers.owner.run(
            """
            UPDATE dead_letters SET reason = 'too-large', properties = '{"bodyCut":{"bytes":17825792,"sha256":"ab12"}}'
            WHERE dead_id = 'cut'
            """
        )
    }

    @Test("a replay rejects a truncated item, sends the others, and show reports the missing part")
    func replay() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await Self.file(on: pipeline)
            let alone = await prompt.run("dead-letters", "replay", "--reason", "too-large", "--yes", "--because", "x")
            #expect(alone.code == .answerIsNo)
            #expect(alone.output.contains("1 item cannot be replayed: only the beginning of the body is left"))
            let dry = await prompt.run("dead-letters", "replay", "--dry-run", "--json")
            #expect(dry.output.contains(#""count":1,"#))
            #expect(dry.output.contains(#""bodyCut":1,"#))
            let both = await prompt.run("dead-letters", "replay", "--all", "--yes", "--because", "x")
            #expect(both.code == .done, "\(both.complaints)")
            #expect(both.output.contains("1 item cannot be replayed"))
            let events = try await pipeline.servers.column("SELECT event_id FROM notifications")
            #expect(events == ["g1"])
            let shown = await prompt.run("dead-letters", "show", "cut")
            #expect(shown.output.contains("its body was cut: \(Self.whole.utf8.count) bytes are left of 17,825,792"))
            #expect(shown.output.contains("the SHA-256 ab12"))
        }
    }

    @Test("an edit of a truncated item requires a whole body and sends it")
    func edit() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await Self.file(on: pipeline)
            let words = ["--yes", "--because", "x"]
            let part = await prompt.run(["dead-letters", "edit", "cut", "--set", "/title=New"] + words)
            #expect(part.code == .answerIsNo)
            #expect(part.complaints.contains("only the beginning of its 17,825,792 bytes is left"))
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("whole"))
            try Data(#"{"id":"g3","to":{"user":"u1"},"title":"t","body":"b"}"#.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let all = await prompt.run(["dead-letters", "edit", "cut", "--file", file.path] + words)
            #expect(all.code == .done, "\(all.complaints)\(all.output)")
            let events = try await pipeline.servers.column("SELECT event_id FROM notifications")
            #expect(events == ["g3"])
        }
    }

    @Test("without the database, a truncated item stays in the queue and the command reports it")
    func fromQueue() async throws {
        try await ServerFixture.withTopology { servers in
            var properties = MessageProperties()
            properties.headers = [
                "x-bellhop-dead-id": "cut", "x-bellhop-reason": "too-large", "x-bellhop-stage": "intake",
                "x-bellhop-origin-exchange": .string(servers.names.events), "x-bellhop-body-cut": .boolean(true),
                "x-bellhop-body-bytes": .int64(17_825_792), "x-bellhop-body-sha256": "ab12",
            ]
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
            publisher.start()
            let letter = OutgoingMessage(
                exchange: servers.names.dead,
                routingKey: servers.names.lane(.normal),
                properties: properties,
                body: Array(Self.whole.utf8)
            )
            let outcomes = await publisher.publish([letter])
            #expect(outcomes == [.confirmed])
            await publisher.close()
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let answer = await prompt.run("dead-letters", "--from-queue", "replay", "--all", "--yes")
                #expect(answer.code == .answerIsNo, "\(answer.complaints)")
                #expect(answer.output.contains("1 item cannot be replayed"))
            }
            // The message that the command held returns to the queue when its connection has ended.
            try await eventually("it is in the queue") {
                try await BrokerSession.with(try servers.broker, name: "test") { [names = servers.names] session in
                    try session.checkQueue(names.dead)?.messages == 1
                }
            }
        }
    }
}
