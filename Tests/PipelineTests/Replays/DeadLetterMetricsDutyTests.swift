import AMQP
import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "The dead-letter meter",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DeadLetterMetricsDutyTests {
    @Test("open items are counted by app and reason, unknown reasons as other, and closed items not at all")
    func meter() async throws {
        try await ServerFixture.withSchema { servers in
            let letters = [
                DeadLetterSamples.rejected("a"), DeadLetterSamples.rejected("b"),
                DeadLetterSamples.rejected("c", app: "nosuch"),
                DeadLetterSamples.rejected("d", reason: "their own word"),
            ]
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            let registry = MetricsRegistry()
            let meter = DeadLetterMetricsDuty(
                context: SchedulerContext(
                    pool: servers.pool,
                    publisher: Publisher(PublisherOptions(broker: try servers.broker, name: "test")),
                    names: servers.names,
                    logger: Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)),
                    metrics: registry
                ),
                catalogs: CatalogSource(servers.catalogs),
                interval: .milliseconds(20)
            )
            let drain = DrainSignal()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await meter.run(until: drain) }
                try await Self.wait(for: #"bellhop_dead_letters_open{app="drop",reason="malformed-json"} 2"#, registry)
                try await Self.wait(for: #"bellhop_dead_letters_open{app="other",reason="malformed-json"} 1"#, registry)
                try await Self.wait(for: #"bellhop_dead_letters_open{app="drop",reason="other"} 1"#, registry)
                _ = try await servers.owner.run("UPDATE dead_letters SET state = 'discarded'")
                try await Self.wait(for: #"bellhop_dead_letters_open{app="drop",reason="malformed-json"} 0"#, registry)
                try await Self.wait(for: "bellhop_dead_letters_oldest_seconds 0", registry)
                drain.fire()
                try await group.waitForAll()
            }
        }
    }

    private static func wait(for line: String, _ registry: MetricsRegistry) async throws {
        try await eventually("\(line) among:\n\(registry.text())") {
            registry.text().split(separator: "\n").contains { $0 == line }
        }
    }
}
