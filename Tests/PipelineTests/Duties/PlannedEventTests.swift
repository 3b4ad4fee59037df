import BellhopRules
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@Suite(
    "Events for later",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct PlannedEventTests {
    private func instant(in seconds: Int64) -> String {
        Timestamp(clamping: SystemTime().now().microseconds + seconds * 1_000_000).description
    }

    @Test("the notification is made once, when the event falls due, and not if the event was cancelled")
    func due() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                let hour = instant(in: 3600)
                try await pipeline.publish(
                    ["kept", "cancelled", "later"].map { id in
                        pipeline.event(
                            #"{"id":"\#(id)","to":{"user":"u1"},"title":"Hei","body":"","deliverAt":"\#(hour)"}"#,
                            key: "drop.transaction_complete"
                        )
                    }
                )
                try await pipeline.wait(for: 3, "SELECT count(*) FROM events")
                #expect(try await servers.count("SELECT count(*) FROM notifications") == 0)
                try await pipeline.publish([pipeline.event(#"{"id":"cancelled"}"#, key: "drop.event.cancelled")])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM events WHERE cancelled_at IS NOT NULL")
                _ = try await servers.owner.run("UPDATE events SET planned_at = now() WHERE id <> 'later'", [])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
                try await pipeline.wait(for: 1, "SELECT count(*) FROM events WHERE expanded_at IS NOT NULL")
                // After a crash between the publish and the mark, it is published again.
                _ = try await servers.owner.run(
                    "UPDATE events SET expanded_at = NULL, handed_over_at = now() - interval '31 s' WHERE id = 'kept'",
                    []
                )
                try await pipeline.wait(for: 1, "SELECT count(*) FROM events WHERE expanded_at IS NOT NULL")
                try await pipeline.wait(
                    for: 1,
                    "SELECT count(*) FROM events WHERE id = 'kept' AND handed_over_at > now() - interval '30 s'"
                )
                let events = try await servers.column("SELECT event_id FROM notifications")
                #expect(events == ["kept"])
            }
        }
    }

    @Test("a planned event for a topic is expanded when it falls due, to the users who follow then")
    func topic() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                let to = #""to":{"topic":"venue:1"},"title":"Hei","body":"""#
                try await pipeline.publish([
                    pipeline.event(#"{"id":"e","deliverAt":"\#(instant(in: 3600))",\#(to)}"#, key: "drop.system")
                ])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM events")
                try await pipeline.publish([
                    pipeline.event(#"{"userId":"u1","topic":"venue:1"}"#, key: "drop.follow.added")
                ])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM follows")
                #expect(try await servers.count("SELECT count(*) FROM fanouts") == 0)
                _ = try await servers.owner.run("UPDATE events SET planned_at = now()", [])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
                #expect(try await servers.column("SELECT user_id FROM notifications") == ["u1"])
                #expect(try await servers.count("SELECT count(*) FROM dead_letters") == 0)
            }
        }
    }

    @Test("an event for everyone without users ends immediately; only an event for later is published when due")
    func wide() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await pipeline.publish([
                    pipeline.event(
                        #"{"id":"all","to":{"everyone":true},"title":"Hei","body":""}"#,
                        key: "drop.transaction_complete"
                    ),
                    pipeline.event(
                        #"{"id":"one","to":{"user":"u1"},"title":"Hei","body":"","deliverAt":"\#(instant(in: 1))"}"#,
                        key: "drop.transaction_complete"
                    ),
                ])
                try await pipeline.wait(
                    for: 1,
                    "SELECT count(*) FROM events WHERE id = 'one' AND expanded_at IS NOT NULL"
                )
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
                #expect(
                    try await servers.count(
                        "SELECT count(*) FROM events WHERE id = 'all' AND expanded_at IS NOT NULL AND handed_over_at IS NULL"
                    ) == 1
                )
            }
        }
    }
}
