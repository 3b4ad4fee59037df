import AMQP
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

/// Tests RabbitMQ's treatment of a message that was dead-lettered once and is dead-lettered again after a replay.
///
/// With its old headers, the broker may drop it silently or leave it in its queue indefinitely.
@Suite(
    "The dead-letter cycle",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct CycleTrapTests {
    @Test(
        "a replayed message returns through a retry queue, and a copy with the old headers may not",
        arguments: ["at-most-once", "at-least-once"]
    )
    func comesBack(strategy: String) async throws {
        guard let url = Servers.amqpURL else { throw ServerFixtureError("BELLHOP_AMQP_URL is not set") }
        let broker = try BrokerAddress(validating: url)
        let track = RetryCycle(name: Servers.uniqueName("cycle"), strategy: strategy)
        let publisher = Publisher(PublisherOptions(broker: broker, name: "test, cycle"))
        publisher.start()
        let result: Result<Void, any Error>
        do { result = .success(try await run(track, broker, publisher)) } catch { result = .failure(error) }
        await publisher.close()
        try await BrokerSession.with(broker, name: "test, clearing up") { session in
            for queue in [track.work, track.retry, track.dead] { try session.deleteQueue(queue) }
        }
        try result.get()
    }

    private func run(_ track: RetryCycle, _ broker: BrokerAddress, _ publisher: Publisher) async throws {
        try await BrokerSession.with(broker, name: "test, cycle") { try track.declare(on: $0) }
        let first = OutgoingMessage(exchange: "", routingKey: track.work, body: Array("replay me".utf8))
        #expect(await publisher.publish([first]) == [.confirmed])
        let died = try await BrokerSession.with(broker, name: "test, cycle") { try track.killAtDeliveryLimit($0) }
        #expect(died.properties.headers["x-death"] != nil)

        // The copy keeps every header. The result depends on the broker's version.
        let copied = OutgoingMessage(
            exchange: "",
            routingKey: track.retry,
            properties: died.properties,
            body: died.body
        )
        _ = await publisher.publish([copied])
        let copies = try await BrokerSession.with(broker, name: "test, cycle") { session in
            try track.arrivals(session, within: QuietSpan.duration)
        }
        print(
            "cycle, \(track.strategy): a copy with the old headers \(copies == 1 ? "came back" : "did not come back")"
        )

        // The message as Bellhop replays it.
        let names = TopologyNames(try #require(Namespace("cycle")))
        let item = DeadLetterParser.item(of: died, at: DeadLetterSamples.now, names: names)
        #expect(item.cause.reason == "delivery-limit")
        let mark = DeadLetterItem.ReplayMark(item: item.deadID, replay: 1, round: 1)
        let replayed = ReplayHeaders(mark, by: "ada", origin: item.origin, arrivedAt: item.failedAt)
        let message = OutgoingMessage(replaying: item.origin, replayed, names: names)
        #expect(message.body == first.body)
        let onTheTrack = OutgoingMessage(
            exchange: "",
            routingKey: track.retry,
            properties: message.properties,
            body: message.body
        )
        for round in 1...3 {
            #expect(await publisher.publish([onTheTrack]) == [.confirmed])
            let back = try await BrokerSession.with(broker, name: "test, cycle") { session in
                try track.arrivals(session, within: LongestWait.duration)
            }
            #expect(back == 1, "round \(round)")
        }
    }
}

/// A work queue with a delivery limit, a retry queue that leads back to it, and a dead-letter queue.
private struct RetryCycle: Sendable {
    let work: String
    let retry: String
    let dead: String
    let strategy: String

    init(name: String, strategy: String) {
        work = name + "_work"
        retry = name + "_retry"
        dead = name + "_dead"
        self.strategy = strategy
    }

    func declare(on session: BrokerSession) throws {
        let common: FieldTable = [
            "x-queue-type": "quorum", "x-max-length": 1000, "x-overflow": "reject-publish",
            "x-dead-letter-exchange": "", "x-dead-letter-strategy": .string(strategy),
        ]
        var arguments = common
        arguments["x-delivery-limit"] = 1
        arguments["x-dead-letter-routing-key"] = .string(dead)
        _ = try session.declareQueue(work, arguments: arguments)
        arguments = common
        arguments["x-message-ttl"] = 200
        arguments["x-dead-letter-routing-key"] = .string(work)
        _ = try session.declareQueue(retry, arguments: arguments)
        _ = try session.declareQueue(dead, arguments: ["x-queue-type": "quorum"])
    }

    /// Takes the message and returns it to the queue until the broker dead-letters it.
    func killAtDeliveryLimit(_ session: BrokerSession) throws -> IncomingMessage {
        let deadline = ContinuousClock.now + LongestWait.duration
        while ContinuousClock.now < deadline {
            if let message = try session.get(work) { try session.release(message.tag) }
            if let died = try session.get(dead) {
                try session.acknowledge(died.tag)
                return died
            }
        }
        throw ServerFixtureError("the broker has not dead-lettered the message")
    }

    /// Takes one message that arrives in the work queue and returns its count, or 0 if none arrives in time.
    func arrivals(_ session: BrokerSession, within limit: Duration) throws -> Int {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            guard let message = try session.get(work) else { continue }
            try session.acknowledge(message.tag)
            return 1
        }
        return 0
    }
}
