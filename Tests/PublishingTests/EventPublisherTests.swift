import AMQP
import BellhopRules
import Synchronization
import TestSupport
import Testing

@testable import Publishing

@Suite("Publishing events for many callers")
struct EventPublisherTests {
    /// Answers the calls when the test calls `confirmAll`.
    private final class SlowBroker: Sendable {
        private let waiting = Mutex<[(count: Int, answer: CheckedContinuation<[PublishOutcome], Never>)]>([])

        var calls: Int { waiting.withLock { $0.count } }

        func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome] {
            await withCheckedContinuation { answer in
                waiting.withLock { $0.append((messages.count, answer)) }
            }
        }

        func confirmAll() {
            for (count, answer) in waiting.withLock({ $0 }) {
                answer.resume(returning: Array(repeating: .confirmed, count: count))
            }
            waiting.withLock { $0 = [] }
        }
    }

    private static func event(_ number: Int, bytes: Int = 2) throws -> ValidEvent {
        let app = try #require(AppID(validating: "drop"))
        let id = try #require(EventID(validating: "e\(number)"))
        var envelope = InboundEnvelope(body: Array(repeating: 0x20, count: bytes), source: .elsewhere)
        envelope.contentType = "application/json"
        envelope.headers = [("cloudEvents_id", .string("e\(number)")), ("count", .integer(3)), ("other", .other)]
        return ValidEvent(.cancellation(app: app, eventID: id), in: envelope)
    }

    private static func publisher(
        _ outcomes: [PublishOutcome],
        obstacle: String? = nil
    ) -> EventPublisher {
        EventPublisher(to: "x.events", obstacle: { obstacle }, publish: { _ in outcomes })
    }

    @Test("a message has the routing key, the content type and the headers of its event")
    func messages() throws {
        let message = try Self.event(1).message(to: "x.events")
        #expect(message.exchange == "x.events" && message.routingKey == "drop.event.cancelled")
        #expect(message.properties.contentType == "application/json")
        #expect(message.properties.deliveryMode == .persistent)
        let names = message.properties.headers.entries.map(\.name)
        #expect(names == ["cloudEvents_id", "count"])
    }

    @Test("a call is confirmed only if each of its events is")
    func outcomes() async throws {
        let events = [try Self.event(1), try Self.event(2)]
        let table: [([PublishOutcome], EventPublisher.Outcome)] = [
            ([.confirmed, .confirmed], .confirmed),
            ([.confirmed, .refused], .unavailable("the broker refused an event, its queue is full")),
            ([.unknown("lost"), .confirmed], .unavailable("lost")),
            ([.notSent("away"), .notSent("away")], .unavailable("away")),
            ([.unroutable("no queue"), .confirmed], .unavailable("no queue")),
            ([.unknown("lost"), .unwritable("header")], .unfit("header")),
            ([.tooLarge("body"), .confirmed], .unfit("body")),
        ]
        for (given, expected) in table {
            let outcome = await Self.publisher(given).publish(events)
            #expect(outcome == expected)
        }
        #expect(await Self.publisher([]).publish([]) == .confirmed)
    }

    @Test("nothing is sent while the broker is unavailable or blocks")
    func obstacle() async throws {
        let publisher = Self.publisher([.confirmed], obstacle: "blocked")
        let event = try Self.event(1)
        #expect(await publisher.publish([event]) == .unavailable("blocked"))
    }

    @Test("events beyond the limits of count and bytes are not sent until others are confirmed")
    func limits() async throws {
        let broker = SlowBroker()
        let publisher = EventPublisher(
            to: "x.events",
            limits: EventPublisher.Limits(events: 3, bytes: 100),
            obstacle: { nil },
            publish: broker.publish
        )
        let two = [try Self.event(1), try Self.event(2)]
        let large = try Self.event(3, bytes: 97)
        let small = try Self.event(4)
        async let first = publisher.publish(two)
        try await eventually("the first call is at the broker") { broker.calls == 1 }
        #expect(publisher.pendingEvents == 2 && publisher.pendingBytes == 4)
        #expect(await publisher.publish(two) == .tooMany)
        #expect(await publisher.publish([large]) == .tooMany)
        async let second = publisher.publish([small])
        try await eventually("the second call is at the broker") { broker.calls == 2 }
        broker.confirmAll()
        let ends = await [first, second]
        #expect(ends == [.confirmed, .confirmed])
        #expect(publisher.pendingEvents == 0 && publisher.pendingBytes == 0)
        async let third = publisher.publish([large])
        try await eventually("the third call is at the broker") { broker.calls == 1 }
        broker.confirmAll()
        #expect(await third == .confirmed)
    }
}
