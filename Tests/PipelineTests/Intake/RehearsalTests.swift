import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "The rehearsal of a lane",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct RehearsalTests {
    @Test("a lane takes no message before the database can record one, and reports the problem")
    func rehearsal() async throws {
        try await LaneFixture.with(before: "ALTER TABLE inbox RENAME TO inbox_away") { fixture in
            try await eventually("it says why, and names the table") {
                fixture.worker.whatIsWrong ?? "-"
            } is: {
                $0.contains("before the database can record them") && $0.contains("inbox")
            }
            for number in 0..<5 { try await fixture.publish("e\(number)") }
            let taken = fixture.metrics.text().contains("bellhop_batch_messages_sum 0")
            #expect(taken)
            _ = try await fixture.servers.owner.run("ALTER TABLE inbox_away RENAME TO inbox")
            try await fixture.waitUntilReady()
            try await eventually("all are recorded") {
                try await fixture.servers.count("SELECT count(*) FROM notifications") == 5
            }
        }
    }

    @Test("a lane whose tables are locked takes no message, and a drain does not wait for the lock")
    func rehearsalBehindLock() async throws {
        try await ServerFixture.withTopology { servers in
            let drain = DrainSignal()
            let rehearsal = Rehearsal(store: WorkerStore(pool: servers.pool, lease: .seconds(60)), context: .test)
            try await RowLock.hold(on: servers, "LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE") {
                let running = Task { await rehearsal.pass(until: drain) }
                try await eventually("it waits") {
                    rehearsal.whatIsWrong?.contains("lock") ?? false
                }
                drain.fire()
                #expect(await running.value == false)
            }
            #expect(await rehearsal.pass(until: DrainSignal()))
            #expect(rehearsal.whatIsWrong == nil && rehearsal.hindrance == nil)
        }
    }
}
