import AMQP
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing
import Workbench

@testable import Pipeline

@Suite("The dead-letter meter", .inTurn, .enabled(if: serversAreThere, "needs both servers"), .timeLimit(.ofTest))
struct DeadLetterMetricsDutyTests {
    @Test("open items are counted by app and reason, unknown reasons as other, and closed items not at all")
    func meter() async throws {
        try await Bench.withSchema { bench in
            let letters = [
                Letters.rejected("a"), Letters.rejected("b"), Letters.rejected("c", app: "nosuch"),
                Letters.rejected("d", reason: "their own word"),
            ]
            _ = try await DeadLetterStore(pool: bench.pool).file(letters)
            let registry = MetricsRegistry()
            let meter = DeadLetterMetricsDuty(
                context: SchedulerContext(
                    pool: bench.pool,
                    publisher: Publisher(PublisherOptions(broker: try bench.broker, name: "test")),
                    names: bench.names,
                    logger: Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)),
                    metrics: registry
                ),
                catalogs: CatalogSource(bench.catalogs),
                interval: .milliseconds(20)
            )
            let drain = DrainSignal()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await meter.run(until: drain) }
                try await Self.wait(for: #"bellhop_dead_letters_open{app="drop",reason="malformed-json"} 2"#, registry)
                try await Self.wait(for: #"bellhop_dead_letters_open{app="other",reason="malformed-json"} 1"#, registry)
                try await Self.wait(for: #"bellhop_dead_letters_open{app="drop",reason="other"} 1"#, registry)
                _ = try await bench.owner.run("UPDATE dead_letters SET state = 'discarded'")
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
