package import AMQP
import BellhopRules
import Foundation
import Pipeline
package import ServiceRuntime
import Store

/// A worker and a clerk inside the test process, on a bench's broker and schema.
package struct Rig: Sendable {
    package let bench: Bench
    package let publisher: Publisher
    package let metrics = MetricsRegistry()
    private let drain = DrainSignal()

    /// Runs a body beside a worker of all lanes and a dead-letter clerk, and drains them afterwards.
    package static func on<Value: Sendable>(
        _ bench: Bench, clerk: Bool = true, _ body: @escaping @Sendable (Rig) async throws -> Value
    ) async throws -> Value {
        let publisher = Publisher(PublisherOptions(broker: try bench.broker, name: "test, publishing"))
        publisher.start()
        let rig = Rig(bench: bench, publisher: publisher)
        let services: [any Service] = try rig.lanes() + (clerk ? [try rig.clerk()] : [])
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services {
                group.addTask { try await service.run(until: rig.drain) }
            }
            let result: Result<Value, any Error>
            do { result = .success(try await body(rig)) } catch { result = .failure(error) }
            rig.drain.fire()
            try await group.waitForAll()
            await publisher.close()
            return try result.get()
        }
    }

    private var surroundings: FrontDoor.Surroundings {
        FrontDoor.Surroundings(
            time: SystemTime(), logger: Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)),
            metrics: FrontDoorMetrics(metrics)
        )
    }

    private func lanes() throws -> [LaneWorker] {
        let frontDoor = FrontDoor(
            catalogs: CatalogSource(bench.catalogs), stores: FrontDoor.Stores(pool: bench.pool), publisher: publisher,
            names: bench.names, surroundings: surroundings
        )
        return try Lane.allCases.map { lane in
            let consumer = Consumer(
                ConsumerOptions(
                    broker: try bench.broker, name: "test, \(lane.rawValue)",
                    subscriptions: [.init(queue: bench.names.lane(lane), prefetch: 1024)]
                )
            )
            return LaneWorker(lane: lane, consumer: consumer, frontDoor: frontDoor, limits: .init(batch: 256))
        }
    }

    private func clerk() throws -> DeadLetterClerk {
        let options = ConsumerOptions(
            broker: try bench.broker, name: "test, clerk", subscriptions: [.init(queue: bench.names.dead, prefetch: 1000)]
        )
        return DeadLetterClerk(
            pool: bench.pool, time: SystemTime(),
            logger: Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)), metrics: metrics,
            makeConsumer: { Consumer(options) }
        )
    }

    // MARK: - What tests do

    /// Publishes through the events exchange and insists on the broker's confirm for each.
    package func publish(_ messages: [OutgoingMessage]) async throws {
        let outcomes = await publisher.publish(messages)
        if let failure = outcomes.first(where: { $0 != .confirmed }) {
            throw BenchError("a message was not confirmed: \(failure)")
        }
    }

    package func event(
        _ body: String, key: String, properties: MessageProperties = MessageProperties()
    ) -> OutgoingMessage {
        OutgoingMessage(exchange: bench.names.events, routingKey: key, properties: properties, body: Array(body.utf8))
    }

    /// Waits for a number in the database.
    package func wait(
        for expected: Int, _ sql: String, within limit: Duration = .seconds(60)
    ) async throws {
        let deadline = ContinuousClock.now + limit
        var found = -1
        while ContinuousClock.now < deadline {
            found = try await bench.count(sql)
            if found >= expected { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        guard found == expected else { throw BenchError("expected \(expected) from \(sql), found \(found)") }
    }
}
