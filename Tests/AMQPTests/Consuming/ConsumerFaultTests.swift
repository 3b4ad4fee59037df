import ServiceRuntime
import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Consuming through faults",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct ConsumerFaultTests {
    private func consumer(_ address: BrokerAddress, _ queues: [String], _ log: EventLog, prefetch: Int = 100)
        -> Consumer
    {
        let consumer = Consumer(
            .init(
                broker: address,
                name: "test-faults",
                subscriptions: queues.map { .init(queue: $0, prefetch: prefetch) },
                chance: { 0.5 },
                observer: log.observer
            )
        )
        consumer.start()
        return consumer
    }

    @Test("a consumer reconnects after a cut, unsettled messages are redelivered, and old tags settle nothing")
    func cut() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            try await Broker.publish(Broker.messages(10, to: queue))
            let log = EventLog()
            let consumer = consumer(try Broker.address(behind: proxy), [queue], log)
            let before = try await consumer.collect(10, settling: false)
            proxy.cutAll()
            let after = try await consumer.collect(10, settling: false)
            #expect(after.allSatisfy { $0.redelivered })
            let sameTags = Set(after.map(\.tag)).intersection(before.map(\.tag))
            #expect(sameTags.isEmpty)
            consumer.acknowledge(before.map(\.tag))
            consumer.acknowledge(after.prefix(4).map(\.tag))
            await consumer.close()
            let left = try await Broker.session { session in
                try (0..<10).compactMap { _ in try session.get(queue)?.properties.messageID }
            }
            #expect(Set(left) == Set((4..<10).map { "m\($0)" }))
            try await eventually("events have arrived") { log.losses >= 1 }
            #expect(log.losses == 1)
            try await eventually("events have arrived") { log.connections >= 2 }
            #expect(log.connections == 2)
            proxy.stop()
        }
    }

    @Test("messages that were buffered when the connection broke are not delivered twice")
    func bufferedAtTheCut() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            try await Broker.publish(Broker.messages(20, to: queue))
            let log = EventLog()
            let consumer = consumer(try Broker.address(behind: proxy), [queue], log)
            try await eventually("all are buffered") { consumer.bufferedBytes >= 20 * 16 }
            proxy.cutAll()
            try await eventually("the loss is noticed") { log.losses == 1 }
            let taken = try await consumer.collect(20)
            #expect(Set(taken.map(\.properties.messageID)).count == 20)
            // A duplicate would arrive before the next message.
            try await Broker.publish([Broker.messages(21, to: queue)[20]])
            let next = try await consumer.collect(1)
            #expect(next.map(\.properties.messageID) == ["m20"])
            await consumer.close()
            proxy.stop()
        }
    }

    @Test("a vanished peer is given up after two heartbeats")
    func vanishedPeer() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            let consumer = consumer(try Broker.address(behind: proxy, heartbeat: 1), [queue], log)
            try await eventually("it consumes") { consumer.isConsuming }
            proxy.blackHole(true)
            try await eventually("the silence is noticed") { log.losses > 0 }
            #expect(!consumer.isConsuming)
            proxy.blackHole(false)
            try await Broker.publish(Broker.messages(3, to: queue))
            #expect(try await consumer.collect(3).count == 3)
            await consumer.close()
            proxy.stop()
        }
    }

    @Test("heartbeats keep an idle connection open")
    func idle() async throws {
        try await Broker.withQueue { queue in
            let log = EventLog()
            let proxy = try Broker.proxy()
            let consumer = consumer(try Broker.address(behind: proxy, heartbeat: 1), [queue], log)
            // Several heartbeats of one second each, the shortest interval of the protocol.
            #expect(await consumer.next(atMost: 1, within: .seconds(5)) == nil)
            try await eventually("events have arrived") { log.connections >= 1 }
            #expect(log.connections == 1)
            #expect(log.losses == 0)
            await consumer.close()
            proxy.stop()
        }
    }

    @Test("refused connections are retried with pauses, not in a hot loop")
    func refusal() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            proxy.refuse(true)
            let log = EventLog()
            let consumer = consumer(try Broker.address(behind: proxy), [queue], log)
            try await eventually("it has failed three times") { log.losses >= 3 }
            let pauses = log.all.compactMap { if case .disconnected(_, let pause) = $0 { pause } else { nil } }
            #expect(pauses.prefix(3).map(\.pollMilliseconds) == [150, 300, 600])
            proxy.refuse(false)
            try await eventually("it consumes") { consumer.isConsuming }
            await consumer.close()
            proxy.stop()
        }
    }

    @Test("closing during a pause or a connection attempt does not hang")
    func closingWhileAway() async throws {
        let log = EventLog()
        let consumer = consumer(try BrokerAddress(validating: "amqp://127.0.0.1:1"), ["x"], log)
        try await eventually("it has failed") { log.losses > 0 }
        await consumer.close()
        #expect(await consumer.next(atMost: 1) == nil)
    }

    @Test("a deleted queue is reported, and consumed again when it is back, with few attempts")
    func deletedQueue() async throws {
        try await Broker.withQueue { queue in
            let log = EventLog()
            let consumer = consumer(try Broker.address, [queue], log)
            try await eventually("it consumes") { consumer.isConsuming }
            try await Broker.session { try $0.deleteQueue(queue) }
            try await eventually("the end is reported") { log.all.contains(.consumerCancelled(queue: queue)) }
            #expect(!consumer.isConsuming)
            try await eventually("an attempt has failed") {
                log.count {
                    if case .subscriptionFailed(queue, let error, _) = $0 { error.code == .notFound } else { false }
                } >= 2
            }
            #expect(log.count { if case .subscriptionFailed = $0 { true } else { false } } < 10)
            try await Broker.session { try $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"]) }
            try await Broker.publish(Broker.messages(2, to: queue))
            #expect(try await consumer.collect(2).count == 2)
            try await eventually("events have arrived") { log.connections >= 1 }
            #expect(log.connections == 1)
            await consumer.close()
        }
    }

    @Test("a missing queue does not disturb the others, and is consumed when it appears")
    func absentQueue() async throws {
        try await Broker.withQueue { queue in
            let late = queue + "_late"
            try await Broker.publish(Broker.messages(5, to: queue))
            let log = EventLog()
            let consumer = consumer(try Broker.address, [late, queue], log)
            let held = try await consumer.collect(5, settling: false)
            try await eventually("it has been looked for") {
                log.count { if case .subscriptionFailed(late, _, _) = $0 { true } else { false } } >= 2
            }
            #expect(!consumer.isConsuming)
            #expect(log.count { if case .channelClosed = $0 { true } else { false } } == 0)
            try await Broker.session { try $0.declareQueue(late, arguments: ["x-queue-type": "quorum"]) }
            try await Broker.publish(Broker.messages(1, to: late))
            let joined = try await consumer.collect(1)
            #expect(joined[0].queue == late)
            try await eventually("events have arrived") { log.connections >= 1 }
            #expect(log.connections == 1, "\(log.all)")
            #expect(held.allSatisfy { !$0.redelivered })
            consumer.acknowledge(held.map(\.tag))
            await consumer.close()
            #expect(try await Broker.session { try $0.get(queue) } == nil)
            try await Broker.session { try $0.deleteQueue(late) }
        }
    }

    @Test("a subscription that closes the channel is postponed, and the others continue on a new channel")
    func refusedSubscription() async throws {
        try await Broker.withQueue { queue in
            try await Broker.withQueue(["x-queue-type": "classic"]) { taken in
                let owner = try RawPublisher(Broker.url)
                try owner.consume(taken, exclusively: true)
                try await Broker.publish(Broker.messages(5, to: queue))
                let log = EventLog()
                let consumer = consumer(try Broker.address, [queue, taken], log)
                try await eventually("the channel was replaced") {
                    log.count { if case .channelClosed(let error) = $0 { error.replyCode == 403 } else { false } } == 1
                }
                let arrived = try await consumer.collect(5)
                #expect(Set(arrived.map(\.properties.messageID)) == Set((0..<5).map { "m\($0)" }))
                #expect(!consumer.isConsuming)
                try await eventually("events have arrived") { log.connections >= 1 }
                #expect(log.connections == 1)
                await consumer.close()
                #expect(try await Broker.session { try $0.get(queue) } == nil, "what was settled is the new channel's")
                withExtendedLifetime(owner) {}
            }
        }
    }

    @Test("the second host replaces an unreachable first one")
    func secondHost() async throws {
        try await Broker.withQueue { queue in
            let host = try Broker.address.hosts[0]
            let log = EventLog()
            let address = try BrokerAddress(validating: Broker.url(on: "127.0.0.1:1,\(host)"))
            let consumer = consumer(address, [queue], log)
            try await eventually("it consumes") { consumer.isConsuming }
            try await eventually("events have arrived") { log.losses >= 1 }
            #expect(log.losses == 1)
            try await eventually("the event has arrived") { log.all.contains(.connected(host: host.description)) }
            await consumer.close()
        }
    }

    @Test("random cuts under load lose nothing")
    func chaos() async throws {
        try await Broker.withQueue { queue in
            let seed = UInt64.random(in: 1...UInt64.max)
            var chance = SeededChance(seed)
            let proxy = try Broker.proxy()
            let total = 3000
            try await Broker.publish(Broker.messages(total, to: queue))
            let log = EventLog()
            let consumer = consumer(try Broker.address(behind: proxy), [queue], log, prefetch: 200)
            var seen: Set<String> = []
            var cuts = 0
            while seen.count < total {
                guard let batch = await consumer.next(atMost: 64, within: LongestWait.duration) else { break }
                seen.formUnion(batch.compactMap(\.properties.messageID))
                for message in batch.shuffled(using: &chance) { consumer.acknowledge([message.tag]) }
                if cuts < 5, Int.random(in: 0..<10, using: &chance) == 0 {
                    proxy.cutAll()
                    cuts += 1
                }
            }
            #expect(seen.count == total, "seed \(seed)")
            await consumer.close()
            proxy.stop()
        }
    }
}
