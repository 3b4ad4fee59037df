import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Hostile messages",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct HostileMessageTests {
    private func withConsumer(_ queue: String, _ log: EventLog, _ body: (Consumer) async throws -> Void) async throws {
        let consumer = Consumer(
            .init(
                broker: try Broker.address,
                name: "test-hostile",
                subscriptions: [.init(queue: queue, prefetch: 100)],
                observer: log.observer
            )
        )
        consumer.start()
        try await body(consumer)
        await consumer.close()
    }

    @Test("tables and arrays nested as deep as a frame allows harm neither the consumer nor the next message")
    func depth() async throws {
        try await Broker.withQueue { queue in
            let log = EventLog()
            let answers = try await onThread {
                let raw = try RawPublisher(Broker.url)
                let tables = [
                    RawTable.nested(levels: 15_000), RawTable.nestedArrays(levels: 26_000),
                    RawTable.entry("n", .int8(-5)),
                ]
                return try tables.map { try raw.publish(to: Array(queue.utf8), headers: $0) }
            }
            #expect(answers == [.confirmed, .confirmed, .confirmed])
            try await withConsumer(queue, log) { consumer in
                var taken = 0
                try await eventually("the sound message comes") {
                    let batch = await consumer.next(atMost: 10, within: LongestWait.duration) ?? []
                    consumer.acknowledge(batch.map(\.tag))
                    taken += batch.count
                    return batch.contains { $0.properties.headers["n"] == .int8(-5) }
                }
                // From 0.14 on, librabbitmq does not read such depths. A rejected message is redelivered if the
                // connection, which ends with it, is closed before the broker receives the rejection.
                let unreadable = log.count { $0 == .unreadable(queue: queue) }
                #expect(taken + unreadable >= 3)
                #expect((unreadable == 0) == RawTable.canBeDeep)
            }
            try await eventually("nothing is left") { try await Broker.session { try $0.get(queue) } == nil }
        }
    }

    @Test("an invalid delivery count reads as a number, and a producer's count is ignored")
    func deliveryCounts() async throws {
        try await Broker.withQueue(["x-queue-type": "classic"]) { queue in
            let values: [(FieldValue, Int)] = [
                ("many", 0), (.int64(.min), 0), (.int64(.max), .max), (.void, 0), (.double(3), 0), (7, 7),
                (.int8(-1), 0),
                (.table([:]), 0),
            ]
            try await Broker.publish(
                values.map { value, _ in
                    var properties = MessageProperties()
                    properties.headers = ["x-delivery-count": value]
                    return OutgoingMessage(exchange: "", routingKey: queue, properties: properties, body: [])
                }
            )
            let log = EventLog()
            try await withConsumer(queue, log) { consumer in
                let counts = Set(try await consumer.collect(values.count, settling: false).map(\.deliveryCount))
                #expect(counts == [0])
            }
            // A redelivered message of a classic queue has its producer's header.
            try await withConsumer(queue, log) { consumer in
                let counts = try await consumer.collect(values.count).map(\.deliveryCount)
                let expected = values.map(\.1)
                #expect(counts == expected)
            }
        }
    }

    @Test("texts that are not UTF-8 arrive unchanged and are published unchanged")
    func bytes() async throws {
        try await Broker.withQueue(["x-queue-type": "classic"]) { queue in
            let wild: [UInt8] = [0xff, 0x41, 0xf4, 0x8f, 0xbf, 0xbf, 0xc3]
            let short = [UInt8(wild.count)] + wild
            // content type, headers, message id, type
            let table = RawTable.long(short + [FieldKind.string.rawValue] + RawTable.long(wild))
            let flags: UInt16 = 1 << 15 | 1 << 13 | 1 << 7 | 1 << 5
            let answer = try await onThread {
                try RawPublisher(Broker.url).publish(
                    to: Array(queue.utf8),
                    flags: flags,
                    properties: short + table + short + short
                )
            }
            #expect(answer == .confirmed)
            let first = try await Broker.session { session in
                let message = try session.get(queue)
                if let message { try session.acknowledge(message.tag) }
                return message
            }
            guard let first else { throw Unexpected("no message") }
            #expect(first.properties.messageID?.withWireBytes { Array($0) } == wild)
            #expect(first.properties.headers.entries.first?.name == first.properties.messageID)
            try await Broker.publish([
                OutgoingMessage(exchange: "", routingKey: queue, properties: first.properties, body: first.body)
            ])
            let second = try await Broker.session { try $0.get(queue) }
            #expect(second?.properties == first.properties)
        }
    }

    @Test("a header that the broker enlarged beyond the agreed frame is read")
    func grownHeaders() async throws {
        try await Broker.withQueue(["x-queue-type": "quorum", "x-delivery-limit": 10]) { queue in
            let room = 131_072 - 8 - 12 - 2 - 4 - 8
            let entries = RawTable.entry("big", .bytes, Array(repeating: 9, count: room))
            let answer = try await onThread {
                try RawPublisher(Broker.url).publish(to: Array(queue.utf8), headers: entries)
            }
            #expect(answer == .confirmed)
            let log = EventLog()
            try await withConsumer(queue, log) { consumer in
                let first = try await consumer.collect(1, settling: false)
                consumer.release(first.map(\.tag))
                let second = try await consumer.collect(1)
                #expect(second[0].deliveryCount == 1)
                #expect(second[0].properties.headers["big"] == first[0].properties.headers["big"])
                #expect(log.losses == 0)
            }
        }
    }

    @Test("random tables of every type pass through the broker unchanged, or in its order")
    func randomTables() async throws {
        let version = try await onThread { try RawPublisher(Broker.url).brokerVersion }
        let keepsBytes = version.lexicographicallyPrecedes([3, 13])
        try await Broker.withQueue(["x-queue-type": "classic"]) { queue in
            let seed = UInt64.random(in: 1...UInt64.max)
            let messages = Self.randomMessages(500, to: queue, seed: seed)
            try await Broker.publish(messages)
            let log = EventLog()
            try await withConsumer(queue, log) { consumer in
                let taken = try await consumer.collect(messages.count)
                for (sent, came) in zip(messages, taken) {
                    var expected = sent.properties
                    if !keepsBytes { expected.headers = expected.headers.rewritten }
                    #expect(came.properties == expected, "seed \(seed), RabbitMQ \(version)")
                }
            }
        }
    }

    @Test(
        "the broker's rewritten headers are the same at each delivery and after publishing them again"
    )
    func rewrittenHeaders() async throws {
        try await Broker.withQueue(["x-queue-type": "quorum", "x-delivery-limit": 10]) { queue in
            let seed = UInt64.random(in: 1...UInt64.max)
            let sent = Self.randomMessages(100, to: queue, seed: seed)
            try await Broker.publish(sent)
            try await withConsumer(queue, EventLog()) { consumer in
                let first = try await consumer.collect(100, settling: false)
                consumer.release(first.map(\.tag))
                let again = try await consumer.collect(100)
                let firstTimes = again.filter { !$0.redelivered }.count
                #expect(firstTimes == 0)
                let expected = Self.rewrittenHeaders(of: sent.map(\.properties))
                let before = Self.rewrittenHeaders(of: first.map(\.properties))
                #expect(before == expected, "seed \(seed)")
                let after = Self.rewrittenHeaders(of: again.map(\.properties))
                #expect(after == expected, "seed \(seed)")
                let copies = again.map { message in
                    OutgoingMessage(exchange: "", routingKey: queue, properties: message.properties, body: [])
                }
                try await Broker.publish(copies)
                let published = try await consumer.collect(100)
                let last = Self.rewrittenHeaders(of: published.map(\.properties))
                #expect(last == expected, "seed \(seed)")
            }
        }
    }

    /// Returns the rewritten headers by message id, without the broker's counts.
    private static func rewrittenHeaders(of messages: [MessageProperties]) -> [String: FieldTable] {
        let counts = ["x-delivery-count", "x-acquired-count"]
        let pairs = messages.map { properties in
            (properties.messageID ?? "", properties.headers.removing { counts.contains($0) }.rewritten)
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private static func randomMessages(_ count: Int, to queue: String, seed: UInt64) -> [OutgoingMessage] {
        var chance = SeededChance(seed)
        return (0..<count).map { number in
            var properties = MessageProperties(messageID: "\(number)")
            properties.headers = RandomFields.table(&chance, depth: 1)
            properties.correlationID = RandomFields.text(&chance)
            return OutgoingMessage(exchange: "", routingKey: queue, properties: properties, body: [])
        }
    }

    @Test("random bytes as headers never stop the consumer")
    func randomBytes() async throws {
        try await Broker.withQueue(["x-queue-type": "classic"]) { queue in
            let seed = UInt64.random(in: 1...UInt64.max)
            let accepted = try await onThread {
                var chance = SeededChance(seed)
                var raw = try RawPublisher(Broker.url)
                var accepted = 0
                for _ in 0..<40 {
                    let count = Int.random(in: 0...30, using: &chance)
                    let bytes = (0..<count).map { _ in RandomFields.hostileByte(&chance) }
                    if (try? raw.publish(to: Array(queue.utf8), headers: bytes)) == .confirmed {
                        accepted += 1
                    } else {
                        raw = try RawPublisher(Broker.url)
                    }
                }
                return accepted
            }
            let log = EventLog()
            try await withConsumer(queue, log) { consumer in
                try await Broker.publish(Broker.messages(1, to: queue))
                var seen = 0
                try await eventually("the last message comes, seed \(seed)") {
                    let batch = await consumer.next(atMost: 500, within: LongestWait.duration) ?? []
                    consumer.acknowledge(batch.map(\.tag))
                    seen += batch.count
                    return batch.contains { $0.properties.messageID == "m0" }
                }
                #expect(seen <= accepted + 1, "seed \(seed)")
            }
        }
    }
}
