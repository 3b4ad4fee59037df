import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Alarms",
    .limitedConcurrency,
    .serialized,
    .enabled(if: PrivateBroker.isPossible, Comment(rawValue: PrivateBroker.absence)),
    .timeLimit(.ofTest)
)
struct AlarmTests {
    @Test("an alarm delays messages until their time limit, consumers continue, and publishing resumes afterwards")
    func memoryAlarm() async throws {
        let broker = try await PrivateBroker.shared()
        let address = try BrokerAddress(validating: "amqp://127.0.0.1:\(broker.port)?heartbeat=2")
        let queue = Servers.uniqueName("amqp_alarm")
        try await BrokerSession.with(address, name: "test") {
            try $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        }
        let log = EventLog()
        // One publisher gives up soon, and the other waits for messages that must be confirmed.
        let publisher = Publisher(.init(broker: address, name: "test", timeout: .seconds(2), observer: log.observer))
        let patient = Publisher(.init(broker: address, name: "test, patient", timeout: LongestWait.duration))
        publisher.start()
        patient.start()
        #expect(await patient.publish(Broker.messages(10, to: queue)) == Array(repeating: .confirmed, count: 10))
        try await eventually("it is connected") { publisher.isConnected }
        try await broker.setMemoryAlarm(true)
        // The broker reports an alarm only to connections that publish.
        guard case .unknown? = await publisher.publish(Broker.messages(1, to: queue)).first else {
            throw Unexpected("the broker took it, or it was not sent")
        }
        try await eventually("the alarm is heard of") { publisher.isBlocked }
        guard case .notSent(let reason)? = await publisher.publish(Broker.messages(1, to: queue)).first else {
            throw Unexpected("sent under an alarm")
        }
        #expect(reason.hasSuffix(PublishOutcome.alarm))
        #expect(publisher.isConnected)

        let consumer = Consumer(.init(broker: address, name: "test", subscriptions: [.init(queue: queue, prefetch: 5)]))
        consumer.start()
        #expect(try await consumer.collect(10).count == 10)
        await consumer.close()

        try await broker.setMemoryAlarm(false)
        try await eventually("the end of the alarm is heard of") { !publisher.isBlocked }
        #expect(await patient.publish(Broker.messages(3, to: queue)) == Array(repeating: .confirmed, count: 3))
        try await eventually("the event has arrived") { log.all.contains(.unblocked) }
        #expect(log.losses == 0)
        await publisher.close()
        await patient.close()
        try await BrokerSession.with(address, name: "test") { try $0.deleteQueue(queue) }
    }

    @Test("a send that hangs because the broker reads nothing is broken off, and every call is answered")
    func hangingSend() async throws {
        let broker = try await PrivateBroker.shared()
        let address = try BrokerAddress(validating: "amqp://127.0.0.1:\(broker.port)?heartbeat=10")
        let queue = Servers.uniqueName("amqp_alarm")
        try await BrokerSession.with(address, name: "test") {
            try $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        }
        try await broker.setMemoryAlarm(true)
        let log = EventLog()
        let publisher = Publisher(.init(broker: address, name: "test", timeout: .seconds(2), observer: log.observer))
        publisher.start()
        // Larger than all buffers on the path to the broker, which stops reading after the first bytes.
        let outcomes = await publisher.publish(Broker.messages(3, to: queue, size: 15 << 20))
        #expect(outcomes.count == 3)
        #expect(!outcomes.contains(.confirmed))
        await publisher.close()
        try await broker.setMemoryAlarm(false)
        try await BrokerSession.with(address, name: "test") { try $0.deleteQueue(queue) }
    }
}
