import AMQP
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Ages of open deliveries",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct BacklogAgeDutyTests {
    @Test("the meter shows the oldest due delivery by lane and the oldest of each backlog, and zero without any")
    func meter() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, urgency, due_at, outlet,
                                        queued_at)
                SELECT 'drop', 'u' || n, 'n' || n, 'push', 'd' || n, state, urgency, now() + due, outlet, now() + queued
                FROM (VALUES
                    (0, 'retrying', 1, interval '-1 h', NULL, NULL::interval),
                    (1, 'retrying', 2, interval '1 h', NULL, NULL),
                    (2, 'deferred', 1, NULL, 'drop/fcm', interval '-2 h'),
                    (3, 'deferred', 0, NULL, 'drop/fcm/ios', interval '-1 min')
                ) AS l (n, state, urgency, due, outlet, queued)
                """
            )
            let registry = MetricsRegistry()
            let source = CatalogSource(servers.catalogs)
            try await RunningDuty.with(
                { BacklogAgeDuty(context: $0, catalogs: source, interval: .milliseconds(20)) },
                on: servers,
                metrics: registry
            ) {
                let said = [
                    #"bellhop_owed_oldest_seconds{lane="normal"} 36"#, #"bellhop_owed_oldest_seconds{lane="bulk"} 0"#,
                    #"bellhop_backlog_oldest_seconds{app="drop",provider="fcm"} 72"#,
                ]
                for line in said {
                    try await eventually("\(line) among:\n\(registry.text())") { registry.text().contains(line) }
                }
                _ = try await servers.owner.run("DELETE FROM ledger")
                let none = [
                    #"bellhop_owed_oldest_seconds{lane="normal"} 0"#,
                    #"bellhop_backlog_oldest_seconds{app="drop",provider="fcm"} 0"#,
                ]
                for line in none {
                    try await eventually("\(line) among:\n\(registry.text())") {
                        registry.text().split(separator: "\n").contains { $0 == line }
                    }
                }
            }
        }
    }

    @Test("the age of a queue follows from the messages just taken; a message without a timestamp does not count")
    func queues() {
        let registry = MetricsRegistry()
        let metrics = QueueMetrics(registry)
        let now = Instant(seconds: 1_000)
        let queues = [(queue: "q.urgent", label: "urgent"), (queue: "q.resume", label: "resume.urgent")]
        let times: [UInt64?] = [990, 940, nil]
        let taken = times.map { published -> IncomingMessage in
            var properties = MessageProperties()
            properties.timestamp = published
            return MemoryBroker().arriving(from: "q.urgent", properties)
        }
        metrics.took(taken, from: queues, now: now)
        #expect(registry.text().contains(#"bellhop_queue_age_seconds{queue="urgent"} 60"#))
        #expect(registry.text().contains(#"bellhop_queue_age_seconds{queue="resume.urgent"} 0"#))
        // The message is from a clock ahead of this one.
        metrics.took([taken[0]], from: queues, now: Instant(seconds: 1))
        #expect(registry.text().contains(#"bellhop_queue_age_seconds{queue="urgent"} 0"#))
    }
}
