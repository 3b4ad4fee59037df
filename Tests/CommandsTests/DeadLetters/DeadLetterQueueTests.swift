import AMQP
import CommandLineSupport
import Foundation
import IntegrationSupport
import Pipeline
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Dead letters without the database",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct DeadLetterQueueTests {
    @Test("groups, show and a dry run read the queue alone, use the names in the bodies and change nothing")
    func looks() async throws {
        try await Self.with(Self.byHand + Self.refused) { prompt, servers in
            let groups = await prompt.run("dead-letters", "groups", "--from-queue")
            #expect(groups.code == .done, "\(groups.complaints)")
            #expect(groups.output.hasPrefix("3 items in 2 groups, "), "\(groups.output)")
            #expect(groups.output.contains("broker drop system: the message was put into the dead-letter queue"))
            let json = await prompt.run("dead-letters", "groups", "--from-queue", "--json", "--reason", "unexplained")
            let answer = try JSONDecoder().decode(Groups.self, from: Data(json.output.utf8))
            #expect(answer.groups.count == 1)
            let group = try #require(answer.groups.first)
            let lastDay = group.lastDay.reduce(0, +)
            #expect(group.items == 2)
            #expect(group.users == 2)
            #expect(lastDay == 2)
            let list = await prompt.run("dead-letters", "list", "--from-queue", "--user", "u2", "--json")
            let found = try JSONDecoder().decode(Items.self, from: Data(list.output.utf8))
            #expect(found.items.count == 1)
            #expect(found.items.first?.eventId == "g2")
            let id = try #require(found.items.first?.id)
            let shown = await prompt.run("dead-letters", "show", String(id.prefix(14)), "--from-queue")
            #expect(shown.code == .done, "\(shown.complaints)")
            #expect(shown.output.contains("in the broker's queue, not filed yet"), "\(shown.output)")
            #expect(shown.output.contains("g2, system of drop"))
            #expect(!shown.output.contains("a secret"), "what is personal is masked")
            #expect(!shown.output.contains("  filed"))
            let many = await prompt.run("dead-letters", "show", "found-", "--from-queue")
            #expect(many.complaints.contains("several items begin like this"), "\(many.complaints)")
            let dry = await prompt.run("dead-letters", "replay", "--from-queue", "--dry-run")
            #expect(dry.code == .done, "\(dry.complaints)")
            let foreseen = "3 rejected messages would be moved to \(servers.names.replay); nothing was changed."
            #expect(dry.output == foreseen)
            let again = await prompt.run("dead-letters", "list", "--from-queue", "--json")
            let left = try JSONDecoder().decode(Items.self, from: Data(again.output.utf8))
            #expect(left.count == 3)
        }
    }

    @Test("a slow broker is waited for and its silence does not count as an empty queue")
    func slowBroker() async throws {
        try await Self.with(Self.byHand + Self.refused) { _, servers in
            var bounds = DeadLetterScan.Bounds()
            bounds.silence = .milliseconds(20)
            bounds.silences = .max
            let scan = DeadLetterScan(broker: try servers.broker, names: servers.names, bounds: bounds)
            var seen = 0
            let reach = try await scan.run { items in
                seen += items.count
                return []
            }
            #expect(seen == 3)
            #expect(reach == .everything)
        }
    }

    @Test("a misspelt filter is distinguished from an empty queue, with a suggestion")
    func slips() async throws {
        try await Self.with(Self.refused) { prompt, _ in
            let slip = await prompt.run("dead-letters", "list", "--from-queue", "--reason", "unknown-tipe")
            #expect(slip.code == .usage)
            #expect(slip.complaints.contains("did you mean unknown-type?"), "\(slip.complaints)")
            let none = await prompt.run("dead-letters", "list", "--from-queue", "--reason", "too-large")
            #expect(none.code == .answerIsNo)
            #expect(none.output.hasPrefix("No items match in"))
        }
    }

    @Test("the reason for a move past the database is stored in the message's headers")
    func reason() async throws {
        try await Self.with(Self.refused) { prompt, servers in
            let options = ["--reason", "unknown-type", "--yes", "--by", "ada", "--because", "the disk is full"]
            let moved = await prompt.run(["dead-letters", "replay", "--from-queue"] + options)
            let words = "Moved 1 message to \(servers.names.replay)."
            #expect(moved.output == words, "\(moved.complaints)")
            let queue = servers.names.replay
            let headers = try await BrokerSession.with(try servers.broker, name: "test") { session in
                try session.get(queue)?.properties.headers
            }
            #expect(headers?["x-bellhop-replay-by"] == .string("ada"))
            #expect(headers?["x-bellhop-replay-because"] == .string("the disk is full"))
        }
    }

    @Test("a message put into the queue by hand is stored under the names in its body, and explain finds its event")
    func filed() async throws {
        try await Self.with(Self.byHand) { prompt, servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await pipeline.wait(for: 2, "SELECT count(*) FROM dead_letters WHERE reason = 'unexplained'")
                let rows = try await servers.column(
                    "SELECT concat_ws('|', app, event_type, event_id, user_id) FROM dead_letters ORDER BY event_id"
                )
                #expect(rows == ["drop|system|g1|u1", "drop|system|g2|u2"])
                let full = prompt.with("BELLHOP_DATABASE_URL", Servers.databaseURL ?? "")
                let story = await full.run("explain", "--app", "drop", "--user", "u2", "--event", "g2")
                #expect(story.output.contains("unexplained"), "\(story.output) \(story.complaints)")
            }
        }
    }

    // MARK: -

    private static let refused = [letter("one", "unknown-type")]

    private static func letter(_ id: String, _ reason: String) -> (String, MessageProperties) {
        var properties = MessageProperties(contentType: "application/json")
        properties.headers = [
            "x-bellhop-dead-id": .string(id), "x-bellhop-reason": .string(reason), "x-bellhop-stage": "intake",
            "x-bellhop-error": "it was so",
        ]
        return (body("g0", "u0"), properties)
    }

    /// Messages as put into the queue by an operator without knowledge of the format: the queue's key, and a number as
    /// id.
    private static let byHand = [1, 2].map { number in
        var properties = MessageProperties(contentType: "application/json")
        properties.messageID = "\(number)"
        return (body("g\(number)", "u\(number)"), properties)
    }

    private static func body(_ id: String, _ user: String) -> String {
        #"{"id":"\#(id)","app":"drop","eventType":"system","to":{"user":"\#(user)"},"title":"a secret","body":"b"}"#
    }

    private static func with(
        _ letters: [(body: String, properties: MessageProperties)],
        _ body: @escaping @Sendable (Prompt, ServerFixture) async throws -> Void
    ) async throws {
        try await ServerFixture.withTopology { servers in
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
            publisher.start()
            let outcomes = await publisher.publish(
                letters.map { letter in
                    let isOurs = !letter.properties.headers.entries.isEmpty
                    return OutgoingMessage(
                        exchange: isOurs ? servers.names.dead : "",
                        routingKey: isOurs ? servers.names.lane(.normal) : servers.names.dead,
                        properties: letter.properties,
                        body: Array(letter.body.utf8)
                    )
                }
            )
            await publisher.close()
            let unconfirmed = outcomes.filter { $0 != .confirmed }
            #expect(unconfirmed.isEmpty)
            try await CommandFolder.withPrompt(on: servers) { full, _ in
                var prompt = full
                prompt.environment["BELLHOP_DATABASE_URL"] = nil
                try await body(prompt, servers)
            }
        }
    }

    private struct Groups: Decodable {
        struct Group: Decodable {
            let items: Int
            let users: Int
            let lastDay: [Int]
        }
        let groups: [Group]
    }

    private struct Items: Decodable {
        struct Item: Decodable {
            let id: String
            let eventId: String?
        }
        let count: Int
        let items: [Item]
    }
}
