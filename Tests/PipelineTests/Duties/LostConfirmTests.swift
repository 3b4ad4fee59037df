import AMQP
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Due events during a silence of the broker",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct LostConfirmTests {
    /// Runs the duty together with a body; its messages go through a proxy.
    private static func withDuty(
        on servers: ServerFixture,
        _ body: (TCPProxy) async throws -> Void
    ) async throws {
        let host = try #require(try servers.broker.hosts.first)
        let proxy = try TCPProxy(to: host.name, Int(host.port))
        defer { proxy.stop() }
        let url = proxy.url(replacingHostOf: try #require(Servers.amqpURL))
        let broker = try BrokerAddress(validating: url)
        try await RunningDuty.with(
            { DueEventDuty(context: $0, interval: .milliseconds(100)) },
            on: servers,
            by: broker
        ) {
            try await body(proxy)
        }
    }

    @Test("a lost connection with outstanding confirms delays no event")
    func lostConnection() async throws {
        try await ServerFixture.withTopology { servers in
            try await Self.withDuty(on: servers) { proxy in
                proxy.blackHole(true)
                _ = try await servers.owner.run(
                    """
                    INSERT INTO events (app, id, content_hash, content, planned_at)
                    SELECT 'drop', 'e' || n, '', '{"to": {"users": ["u1"]}, "eventType": "system"}', now()
                    FROM generate_series(1, 20) AS n
                    """
                )
                try await Self.wait(for: 20, "handed_over_at IS NOT NULL AND expanded_at IS NULL", in: servers)
                // From now on, a poll alone would not find them again.
                _ = try await servers.owner.run("UPDATE events SET handed_over_at = 'infinity'")
                proxy.cutAll()
                proxy.blackHole(false)
                try await Self.wait(for: 20, "expanded_at IS NOT NULL", in: servers)
            }
        }
    }

    private static func wait(for count: Int, _ condition: String, in servers: ServerFixture) async throws {
        try await eventually("\(count) events with \(condition)") {
            try await servers.count("SELECT count(*) FROM events WHERE \(condition)") >= count
        }
    }
}
