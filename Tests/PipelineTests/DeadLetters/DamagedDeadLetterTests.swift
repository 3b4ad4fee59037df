import AMQP
import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Pipeline
@testable import Postgres

@Suite(
    "Dead letters that make the database fail",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DamagedDeadLetterTests {
    @Test(
        "a dead letter that makes the database fail delays no other, and is stored whole after the repair"
    )
    func damaged() async throws {
        try await withRig { pipeline in
            try await pipeline.servers.damage("NEW.event_id = 'b3'", of: "dead_letters")
            let messages = (0..<20).map { number in
                pipeline.event(#"{"id":"b\#(number)","to":{"user":"u"},"title":7}"#, key: "drop.system")
            }
            try await pipeline.publish(messages)
            try await pipeline.wait(for: 19, "SELECT count(*) FROM dead_letters")
            try await pipeline.servers.repair(of: "dead_letters")
            try await pipeline.wait(for: 20, "SELECT count(*) FROM dead_letters")
            let causes = try await pipeline.servers.column(
                "SELECT DISTINCT reason || ' ' || (error LIKE '%not be stored%') FROM dead_letters"
            )
            #expect(causes == ["invalid-field false"])
        }
    }
}
