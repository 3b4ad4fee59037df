import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "The horizon of replays",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ReplayHorizonTests {
    @Test("an item that leaves the horizon during a pause of its replay is not sent, and is open again")
    func paused() async throws {
        try await ReplayFixture.with { fixture in
            try await Self.file(["e1", "e2"], on: fixture)
            // At one item per second the replay is paused long before the second item is sent.
            _ = try await fixture.servers.owner.run(
                "UPDATE dead_letters SET last_failed_at = now() WHERE dead_id = 'e2'"
            )
            let id = try await fixture.start(pace: .init(rate: 1))
            let isPaused = try await fixture.book.control(id, .pause, by: ReplayFixture.ada)
            #expect(isPaused)
            try await fixture.servers.pass(
                "31 days",
                since: "first_failed_at",
                in: "dead_letters",
                where: "dead_id = 'e2'"
            )
            _ = try await fixture.book.control(id, .resume, by: ReplayFixture.ada)
            let progress = try await fixture.wait(for: id)
            #expect(progress.outcomes == [.recorded: 1, .tooOld: 1])
            let states = try await fixture.servers.column("SELECT dead_id || ' ' || state FROM dead_letters ORDER BY 1")
            #expect(states == ["e1 resolved", "e2 open"])
            #expect(try await fixture.servers.column("SELECT event_id FROM notifications") == ["e1"])
            let details = try await fixture.servers.column("SELECT detail FROM replay_items WHERE outcome = 'too-old'")
            #expect(details == ["its notification may have been deleted, so it could be sent twice"])
        }
    }

    @Test("the progress of retention limits a replay, whatever settings the scheduler that continues it has")
    func retired() async throws {
        try await ReplayFixture.with { fixture in
            try await Self.file(["e1"], on: fixture)
            _ = try await fixture.servers.owner.run(
                "INSERT INTO retired VALUES ('notifications', now() - interval '12 hours')"
            )
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.tooOld: 1])
            let none = try await fixture.servers.count("SELECT count(*) FROM notifications")
            #expect(none == 0)
        }
    }

    private static func file(_ ids: [String], on fixture: ReplayFixture) async throws {
        let items = ids.map { id in
            let body = #"{"id":"\#(id)","to":{"user":"u1"},"title":"t","body":"b"}"#
            var item = DeadLetterSamples.rejected(id, failedAt: DeadLetterSamples.ago(600), body: body)
            item.origin.exchange = fixture.servers.names.events
            return item
        }
        _ = try await DeadLetterStore(pool: fixture.servers.pool).file(items)
    }
}
