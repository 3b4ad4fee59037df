import AMQP
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Counts of published messages",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct MeteredPublisherTests {
    @Test("messages without a confirm are counted by outcome, and confirmed messages are not")
    func outcomes() async throws {
        try await ServerFixture.withTopology(catalogs: try ServerFixture.shipped()) { servers in
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
            publisher.start()
            let metrics = MetricsRegistry()
            let watched = MeteredPublisher(publisher, metrics)
            let nowhere = OutgoingMessage(exchange: servers.names.work, routingKey: "nobody", body: [1])
            let somewhere = OutgoingMessage(exchange: servers.names.work, routingKey: servers.names.replay, body: [2])
            let outcomes = await watched.publish([nowhere, somewhere, nowhere])
            #expect(watched.obstacle == nil)
            await watched.close()
            #expect(watched.obstacle == "it is not connected")
            #expect(outcomes[1] == .confirmed)
            let lines = metrics.text().split(separator: "\n")
            #expect(lines.contains("bellhop_broker_blocked 0"))
            let counted = lines.filter { $0.hasPrefix("bellhop_unconfirmed_total") }
            #expect(counted == ["bellhop_unconfirmed_total{outcome=\"unroutable\"} 2"])
        }
    }
}
