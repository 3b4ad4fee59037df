import AMQP
import BellhopRules
import Pipeline
import ServiceRuntime
import TestSupport
import Testing
import Workbench

@Suite(
    "Handing over",
    .inTurn,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct HandOverTests {
    @Test("an urgent line that falls due among thirty thousand digests is handed over before most of them")
    func urgentAmongDigests() async throws {
        try await Bench.withTopology { bench in
            // The lines of all users in turn, so that the oldest thousand are of all of them.
            _ = try await bench.owner.run(
                """
                WITH readers AS (
                    INSERT INTO people (app, user_id) SELECT 'drop', 'u' || u FROM generate_series(1, 500) AS u
                    RETURNING number
                )
                INSERT INTO ledger (person, id, target, state, reason, due_at, urgency)
                SELECT number, n, 1, 'w', 'digest', now() - interval '1 min', 2
                FROM generate_series(1, 60) AS n CROSS JOIN readers ORDER BY n, number
                """,
                []
            )
            try await RunningDuty.with({ HandOver(tools: $0, rhythm: .init(interval: .milliseconds(100))) }, on: bench)
            {
                let handed = "SELECT count(*) FROM deliveries WHERE urgency = 2 AND state = 'pending'"
                try await eventually("the first digests are handed over") { try await bench.count(handed) > 0 }
                _ = try await bench.owner.run(
                    """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, due_at, urgency)
                    VALUES ('drop', 'hurry', 'noti_ffffffffffffffff', 'push', 's', 'deferred', 'quiet-hours', now(), 0)
                    """,
                    []
                )
                let before = try await bench.count(handed)
                try await eventually("the urgent one is handed over") {
                    try await bench.count("SELECT count(*) FROM deliveries WHERE urgency = 0 AND state = 'pending'")
                        == 1
                }
                let after = try await bench.count(handed)
                // Two turns of a thousand may come before it: the one that is under way, and a slow look of ours.
                #expect(after - before <= 5_000)
                let queue = bench.names.resume(.urgent)
                let broker = try bench.broker
                try await eventually("its resume is in the urgent lane") {
                    let counts = try await BrokerSession.with(broker, name: "test") { try $0.checkQueue(queue) }
                    return counts?.messages == 1
                }
            }
        }
    }
}
