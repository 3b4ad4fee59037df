import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Consuming",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct ConsumerTests {
    private func consumer(
        _ queues: [String],
        prefetch: Int = 100,
        bufferedBytes: Int = 64 << 20,
        _ log: EventLog = EventLog()
    ) throws -> Consumer {
        Consumer(
            .init(
                broker: try Broker.address,
                name: "test-consumer",
                subscriptions: queues.map { .init(queue: $0, prefetch: prefetch) },
                bufferedBytes: bufferedBytes,
                observer: log.observer
            )
        )
    }

    @Test("messages arrive in order, complete, with their properties, and are deleted when acknowledged")
    func delivery() async throws {
        try await Broker.withQueue { queue in
            var properties = MessageProperties(contentType: "application/json", messageID: "id-1")
            properties.headers = ["answer": .int32(42), "who": "grüße"]
            properties.appID = "drop"
            properties.type = "test"
            properties.timestamp = 1_800_000_000
            let first = OutgoingMessage(
                exchange: "",
                routingKey: queue,
                properties: properties,
                body: Array("hällo".utf8)
            )
            let big = OutgoingMessage(
                exchange: "",
                routingKey: queue,
                body: (0..<400_000).map { UInt8(truncatingIfNeeded: $0) }
            )
            let empty = OutgoingMessage(exchange: "", routingKey: queue, body: [])
            try await Broker.publish([first, big, empty])
            let consumer = try consumer([queue])
            consumer.start()
            let taken = try await consumer.collect(3)
            await consumer.close()
            #expect(taken[0].properties == properties)
            #expect(taken.map(\.body) == [first.body, big.body, []])
            #expect(
                taken.allSatisfy { $0.routingKey == queue && $0.exchange == "" && $0.queue == queue && !$0.redelivered }
            )
            #expect(taken[0].deliveryCount == 0)
            let left = try await Broker.session { try $0.get(queue) }
            #expect(left == nil)
        }
    }

    @Test("several queues share one consumer, each with a separate prefetch")
    func severalQueues() async throws {
        try await Broker.withQueue { one in
            try await Broker.withQueue { two in
                try await Broker.publish(Broker.messages(30, to: one) + Broker.messages(30, to: two))
                let consumer = try consumer([one, two], prefetch: 10)
                consumer.start()
                let held = try await consumer.collect(20, settling: false)
                #expect(held.count { $0.queue == one } == 10)
                #expect(held.count { $0.queue == two } == 10)
                // The prefetch limits the rest: each acknowledged message makes room for one message of its queue.
                var kept: [IncomingMessage] = []
                for (message, queue) in [(held.first { $0.queue == two }, two), (held.first { $0.queue == one }, one)] {
                    consumer.acknowledge([try #require(message).tag])
                    let next = try await consumer.collect(1, settling: false)
                    #expect(next.map(\.queue) == [queue])
                    consumer.acknowledge(next.map(\.tag))
                    let after = try await consumer.collect(1, settling: false)
                    #expect(after.map(\.queue) == [queue])
                    // Not settled, so that no further message of this queue is delivered.
                    kept += after
                }
                consumer.acknowledge((held + kept).map(\.tag))
                #expect(try await consumer.collect(36).count == 36)
                #expect(consumer.isConsuming)
                await consumer.close()
            }
        }
    }

    @Test("acknowledging in any order, twice, and with foreign tags leaves exactly the rest")
    func settlingInAnyOrder() async throws {
        try await Broker.withQueue { queue in
            try await Broker.publish(Broker.messages(50, to: queue))
            let log = EventLog()
            let consumer = try consumer([queue], log)
            consumer.start()
            let held = try await consumer.collect(50, settling: false)
            let kept = Set([0, 7, 8, 49])
            let tags = held.indices.filter { !kept.contains($0) }.shuffled().map { held[$0].tag }
            for tag in tags + tags.prefix(10) { consumer.acknowledge([tag]) }
            consumer.acknowledge([
                DeliveryTag(epoch: .max, number: 1), DeliveryTag(epoch: held[0].tag.epoch, number: 999),
            ])
            await consumer.close()
            #expect(log.count { if case .channelClosed = $0 { true } else { false } } == 0)
            let left = try await Broker.session { session in
                try (0..<5).compactMap { _ in try session.get(queue)?.properties.messageID }
            }
            #expect(Set(left) == Set(kept.map { "m\($0)" }))
        }
    }

    @Test("a released message is redelivered and counted")
    func release() async throws {
        try await Broker.withQueue(["x-queue-type": "quorum", "x-delivery-limit": 20]) { queue in
            try await Broker.publish(Broker.messages(3, to: queue))
            let consumer = try consumer([queue])
            consumer.start()
            let first = try await consumer.collect(3, settling: false)
            consumer.release([first[1].tag])
            let again = try await consumer.collect(1, settling: false)
            #expect(again[0].properties.messageID == "m1")
            #expect(again[0].redelivered)
            #expect(again[0].deliveryCount == 1)
            await consumer.close()
        }
    }

    @Test("an acknowledgement is sent while the connection is otherwise idle")
    func promptAcknowledgement() async throws {
        try await Broker.withQueue { queue in
            try await Broker.publish(Broker.messages(400, to: queue))
            let consumer = try consumer([queue], prefetch: 1)
            consumer.start()
            // With a prefetch of one, each message waits for the previous acknowledgement. A thread that noticed
            // settlements only at its timer would take longer than any test waits.
            #expect(try await consumer.collect(400).count == 400)
            await consumer.close()
        }
    }

    @Test("stopping releases buffered messages, lets taken ones be settled, and ends every waiting next")
    func stopping() async throws {
        try await Broker.withQueue { queue in
            try await Broker.publish(Broker.messages(20, to: queue))
            let consumer = try consumer([queue])
            consumer.start()
            let taken = try await consumer.collect(5, settling: false)
            let waiting = Task { () -> Int in
                var seen = 0
                while let batch = await consumer.next(atMost: 1) { seen += batch.count }
                return seen
            }
            try await eventually("all have arrived and been taken or buffered") {
                try await Broker.session { try $0.get(queue) } == nil
            }
            consumer.stop()
            _ = await waiting.value
            #expect(await consumer.next(atMost: 10) == nil)
            #expect(!consumer.isConsuming)
            consumer.acknowledge(taken.map(\.tag))
            await consumer.close()
            let left = try await drain(queue)
            #expect(left == Set((5..<20).map { "m\($0)" }))
        }
    }

    @Test("a cancelled next loses nothing")
    func cancellation() async throws {
        try await Broker.withQueue { queue in
            let consumer = try consumer([queue])
            consumer.start()
            for _ in 0..<50 {
                let waiting = Task { await consumer.next(atMost: 5) }
                waiting.cancel()
                #expect(await waiting.value == nil)
            }
            try await Broker.publish(Broker.messages(5, to: queue))
            #expect(try await consumer.collect(5).count == 5)
            await consumer.close()
        }
    }

    @Test("buffered bodies are bounded, and taking them lets the rest arrive")
    func byteLimit() async throws {
        try await Broker.withQueue { queue in
            let size = 100_000
            try await Broker.publish(Broker.messages(60, to: queue, size: size))
            let log = EventLog()
            let consumer = try consumer([queue], bufferedBytes: 5 * size, log)
            consumer.start()
            try await eventually("the buffer is full") { consumer.bufferedBytes >= 5 * size }
            #expect(consumer.bufferedBytes <= 6 * size + 1000)
            let taken = try await consumer.collect(60)
            #expect(taken.map(\.properties.messageID) == (0..<60).map { "m\($0)" })
            #expect(log.losses == 0)
            await consumer.close()
        }
    }

    @Test("closing without starting, starting twice, closing twice and dropping a consumer have no harmful effect")
    func life() async throws {
        try await Broker.withQueue { queue in
            await (try consumer([queue])).close()
            let log = EventLog()
            var forgotten: Consumer? = try consumer([queue], log)
            forgotten?.start()
            forgotten?.start()
            try await eventually("it consumes") { forgotten?.isConsuming == true }
            try await eventually("events have arrived") { log.connections >= 1 }
            #expect(log.connections == 1)
            forgotten = nil
            try await eventually("its connection has ended") {
                try await Broker.session { try $0.checkQueue(queue)?.consumers } == 0
            }
            let twice = try consumer([queue])
            twice.start()
            await twice.close()
            await twice.close()
            #expect(await twice.next(atMost: 1) == nil)
        }
    }

    private func drain(_ queue: String) async throws -> Set<String> {
        try await Broker.session { session in
            var found: Set<String> = []
            while let message = try session.get(queue) {
                found.insert(message.properties.messageID ?? "")
                try session.acknowledge(message.tag)
            }
            return found
        }
    }
}
