import AMQP
import IntegrationSupport
import TestSupport
import Testing

@testable import Pipeline

/// A redelivered message is recognised by its content hash, so nothing that a broker changes may affect the hash.
@Suite(
    "Content hashes of dead letters",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DeadLetterContentTests {
    private let queue = Servers.uniqueName("content")
    /// Unordered headers, with a name twice and a number for which the broker has only a signed type.
    private let headers = FieldTable([
        .init("tenant", .string("blue")), .init("attempt", .uint64(7)), .init("batch", .array([.uint64(.max), .void])),
        .init("attempt", .string("another")),
    ])

    @Test("a rejected message has the same hash at each of its deliveries")
    func rejected() async throws {
        try await publishing(to: queue) { broker in
            let first = try await delivery(from: queue, broker)
            let second = try await delivery(from: queue, broker)
            #expect(first.deliveryCount == 0)
            #expect(second.deliveryCount == 1)
            #expect(DeadLetterContent(first).hash == DeadLetterContent(second).hash)
        }
    }

    @Test("a message that the broker dead-letters, once or repeatedly, has the same hash at each delivery")
    func death() async throws {
        let dying: FieldTable = [
            "x-queue-type": "quorum", "x-message-ttl": 1, "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": .string(queue),
        ]
        let grave = queue + "_dying"
        try await publishing(to: grave, dying) { broker in
            let first = try await delivery(from: queue, broker)
            let second = try await delivery(from: queue, broker)
            #expect(first.properties.headers["x-death"] != nil)
            #expect(second.deliveryCount == 1)
            let one = DeadLetterContent(first, diedIn: "q", of: "expired").hash
            let other = DeadLetterContent(second, diedIn: "q", of: "expired").hash
            #expect(one == other)
        }
    }

    @Test("messages that differ in a header have different hashes")
    func others() async throws {
        try await publishing(to: queue) { broker in
            let one = try await delivery(from: queue, broker)
            try await BrokerSession.with(broker, name: "test, content") { session in _ = try session.purge(queue) }
            var other = headers
            other["tenant"] = .string("green")
            try await publish(other, to: queue, broker)
            let another = try await delivery(from: queue, broker)
            #expect(DeadLetterContent(one).hash != DeadLetterContent(another).hash)
        }
    }

    /// Declares the queues, publishes one message, runs the body and removes the queues again.
    private func publishing(
        to name: String,
        _ arguments: FieldTable = ["x-queue-type": "quorum"],
        _ body: (BrokerAddress) async throws -> Void
    ) async throws {
        let broker = try BrokerAddress(validating: try #require(Servers.amqpURL))
        let queue = queue
        try await BrokerSession.with(broker, name: "test, content") { session in
            _ = try session.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
            if name != queue { _ = try session.declareQueue(name, arguments: arguments) }
        }
        let result: Result<Void, any Error>
        do {
            try await publish(headers, to: name, broker)
            result = .success(try await body(broker))
        } catch { result = .failure(error) }
        try await BrokerSession.with(broker, name: "test, clearing up") { session in
            for queue in Set([queue, name]) { _ = try session.deleteQueue(queue) }
        }
        try result.get()
    }

    private func publish(_ headers: FieldTable, to queue: String, _ broker: BrokerAddress) async throws {
        let publisher = Publisher(PublisherOptions(broker: broker, name: "test, content"))
        publisher.start()
        let properties = MessageProperties(messageID: "m", headers: headers)
        let message = OutgoingMessage(exchange: "", routingKey: queue, properties: properties, body: [1])
        let outcomes = await publisher.publish([message])
        await publisher.close()
        #expect(outcomes == [.confirmed])
    }

    /// Takes the message and returns it to the queue.
    private func delivery(from queue: String, _ broker: BrokerAddress) async throws -> IncomingMessage {
        var found: IncomingMessage?
        try await eventually("a message comes from \(queue)") {
            found = try await BrokerSession.with(broker, name: "test, content") { session in
                let message = try session.get(queue)
                if let message { try session.release(message.tag) }
                return message
            }
            return found != nil
        }
        return try #require(found)
    }
}
