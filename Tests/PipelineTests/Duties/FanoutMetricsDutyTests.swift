import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "The fan-out meter",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct FanoutMetricsDutyTests {
    @Test("fan-outs are counted by app and state, an app without a catalogue as other, and finished ones not at all")
    func meter() async throws {
        try await ServerFixture.withSchema(catalogs: ServerFixture.shipped { $0 == "venues.json5" }) { servers in
            for (event, state) in [("e1", FanoutState.running), ("e2", .running), ("e3", .paused), ("e4", .running)] {
                _ = try await servers.addFanout(event, state: state)
            }
            _ = try await servers.owner.run(
                """
                WITH other AS (
                    INSERT INTO events (app, id, content) VALUES ('nosuch', 'e4', '{}') RETURNING app
                )
                UPDATE fanouts SET worked_at = now() - interval '1 h', resumed_at = now() - interval '1 h'
                WHERE event_id = 'e2'
                """
            )
            _ = try await servers.owner.run("UPDATE fanouts SET app = 'nosuch' WHERE event_id = 'e4'")
            let registry = MetricsRegistry()
            let source = CatalogSource(servers.catalogs)
            try await RunningDuty.with(
                { FanoutMetricsDuty(context: $0, catalogs: source, interval: .milliseconds(20)) },
                on: servers,
                metrics: registry
            ) {
                try await Self.wait(for: #"bellhop_fanouts{app="venues",state="running"} 2"#, registry)
                try await Self.wait(for: #"bellhop_fanouts{app="venues",state="paused"} 1"#, registry)
                try await Self.wait(for: #"bellhop_fanouts{app="other",state="running"} 1"#, registry)
                let standstill = #"bellhop_fanout_standstill_seconds{app="venues"} 36"#
                try await eventually("it has stood still for an hour") { registry.text().contains(standstill) }
                _ = try await servers.owner.run("UPDATE fanouts SET state = 'finished', finished_at = now()")
                try await Self.wait(for: #"bellhop_fanouts{app="venues",state="running"} 0"#, registry)
                try await Self.wait(for: #"bellhop_fanout_standstill_seconds{app="venues"} 0"#, registry)
            }
        }
    }

    private static func wait(for line: String, _ registry: MetricsRegistry) async throws {
        try await eventually("\(line) among:\n\(registry.text())") {
            registry.text().split(separator: "\n").contains { $0 == line }
        }
    }
}
