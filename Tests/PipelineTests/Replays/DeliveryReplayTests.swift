import BellhopRules
import IntegrationSupport
import Postgres
import Sandbox
import Store
import TestSupport
import Testing

@Suite(
    "Replays of deliveries",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DeliveryReplayTests {
    @Test("a given-up delivery is sent again through the ledger, and no other delivery of its notification is")
    func replayed() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die(["e1", "e2"])
            fixture.takeAll()
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.delivered: 2])
            #expect(progress.replay.state == .done)
            let items = try await fixture.items()
            #expect(items == ["resolved|1|1|delivered", "resolved|1|1|delivered"])
            let ledger = try await fixture.peer.ledger()
            #expect(ledger == ["u1|delivered|2", "u1|delivered|2"])
            #expect(fixture.peer.arrivals.values.allSatisfy { $0 == 2 })
            let notifications = try await fixture.servers.count("SELECT count(*) FROM notifications")
            #expect(notifications == 2)
            let audit = try await fixture.admin.auditLog(atMost: 5)
            #expect(audit.map { "\($0.operator) \($0.act) \($0.items)" } == ["ada replay 2"])
        }
    }

    @Test("a delivery given up after a receipt is an ordinary row of the ledger, and a replay sends it again")
    func givenUpByReceipt() async throws {
        try await ReplayFixture.with(over: .expo) { fixture in
            let tooBig = SandboxFault(.expo, .answer(.init(status: 500, reason: "MessageTooBig")), match: "receipt")
            fixture.peer.sandbox.setFaults([tooBig])
            try await fixture.peer.register([("u1", "a")])
            try await fixture.peer.publish(["e1"], to: ["u1"])
            try await fixture.pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'failed'")
            try await fixture.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE stage = 'receipt' AND notification_id IS NOT NULL"
            )
            fixture.takeAll()
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.delivered: 1])
            try await fixture.peer.waitUntilAnswered(1)
            let ledger = try await fixture.peer.ledger()
            #expect(ledger == ["u1|delivered|2"])
        }
    }

    @Test("a delivery that fails again is the same open item with one more failure, until the cap excludes it")
    func diesAgain() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die(["e1"])
            for deaths in 2...3 {
                let progress = try await fixture.wait(for: try await fixture.start())
                #expect(progress.outcomes == [.failed: 1])
                try await fixture.pipeline.wait(
                    for: deaths,
                    "SELECT deaths::bigint FROM dead_letters WHERE state = 'open'"
                )
            }
            let items = try await fixture.items()
            #expect(items == ["open|3|2"])
            let history = try await fixture.servers.count(
                "SELECT count(*) FROM dead_letter_history WHERE kind = 'died'"
            )
            #expect(history == 2)
            let survey = try await fixture.book.survey(fixture.order(perItem: 2))
            #expect(survey.eligible.items == 0)
            #expect(survey.tooOften == 1)
            let start = try await fixture.book.start(fixture.order(perItem: 2), agreed: 1, by: ReplayFixture.ada)
            #expect(start == .nothingToDo)
        }
    }

    @Test("a delivery that is sent according to the ledger is not sent again, whatever the item's state")
    func alreadyDelivered() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die(["e1"])
            _ = try await fixture.servers.owner.run("UPDATE deliveries SET state = 'delivered'")
            fixture.takeAll()
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.alreadyDelivered: 1])
            #expect(fixture.peer.arrivals.values.map { $0 } == [1])
        }
    }

    @Test("the user's settings at the time of the replay apply")
    func mutedMeanwhile() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die(["e1"])
            fixture.takeAll()
            let mute = #"{"userId":"u1","preferences":{"enabled":false}}"#
            try await fixture.pipeline.publish([fixture.pipeline.event(mute, key: "drop.recipient.upserted")])
            try await fixture.pipeline.wait(for: 1, "SELECT count(*) FROM notification_preferences")
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.suppressed: 1])
            let items = try await fixture.items()
            #expect(items == ["resolved|1|1|suppressed, muted"])
        }
    }

    @Test("a replay contains the items at its start, and another one cannot include the same items")
    func frozenAndAlone() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die(["e1", "e2"])
            let id = try await fixture.start(pace: .init(rate: 1))
            _ = try await fixture.book.control(id, .pause, by: ReplayFixture.ada)
            let overlap = try await fixture.book.start(fixture.order(), agreed: 9, by: ReplayFixture.ada)
            #expect(overlap == .overlaps(id: id))
            try await fixture.peer.publish(["e3"], to: ["u1"])
            try await fixture.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE event_id = 'e3'")
            fixture.takeAll()
            _ = try await fixture.book.control(id, .resume, by: ReplayFixture.ada)
            let progress = try await fixture.wait(for: id)
            #expect(progress.settled == 2)
            let open = try await fixture.servers.column("SELECT event_id FROM dead_letters WHERE state = 'open'")
            #expect(open == ["e3"])
        }
    }

    @Test("a cancelled replay immediately opens the items that are not sent, and sent items complete")
    func cancelled() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die((0..<30).map { "e\($0)" })
            fixture.takeAll()
            let id = try await fixture.start(pace: .init(rate: 10))
            _ = try await fixture.wait(for: id) { $0.settled > 0 }
            let didCancel = try await fixture.book.control(id, .cancel, by: ReplayFixture.ada)
            #expect(didCancel)
            let progress = try await fixture.wait(for: id)
            #expect(progress.replay.state == .cancelled)
            #expect(progress.settled == 30)
            let (sent, left) = (progress.outcomes[.delivered] ?? 0, progress.outcomes[.cancelled] ?? 0)
            #expect(sent + left == 30)
            #expect(left > 0)
            let open = try await fixture.servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            #expect(open == left)
            let again = try await fixture.book.control(id, .resume, by: ReplayFixture.ada)
            #expect(!again)
        }
    }

    @Test("a ramp stops at its first failure before another send, and continues after a resume")
    func ramped() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die((0..<12).map { "e\($0)" })
            let id = try await fixture.start(pace: .init(isRamped: true))
            let paused = try await fixture.wait(for: id) { $0.replay.state == .paused && $0.underWay == 0 }
            #expect(paused.outcomes == [.failed: 1])
            #expect(paused.waiting == 11)
            #expect(paused.replay.pauseReason == "1 of the last 1 failed")
            fixture.takeAll()
            _ = try await fixture.book.control(id, .resume, by: ReplayFixture.ada)
            let progress = try await fixture.wait(for: id)
            #expect(progress.outcomes == [.failed: 1, .delivered: 11])
            let acts = try await fixture.admin.auditLog(atMost: 9).map { "\($0.operator) \($0.act)" }
            #expect(acts == ["ada resume", "bellhop pause", "ada replay"])
        }
    }

    @Test("too many failures pause a replay without a ramp as well")
    func failing() async throws {
        try await ReplayFixture.with { fixture in
            // Slow enough that the first failures are recorded before the last item is sent.
            try await fixture.die((0..<120).map { "e\($0)" })
            let id = try await fixture.start(pace: .init(rate: 6, pauseShare: 50))
            let paused = try await fixture.wait(for: id) { $0.replay.state == .paused }
            #expect(paused.waiting > 0)
            #expect(paused.replay.pauseReason?.contains("failed") == true)
        }
    }

    @Test("a replay whose runner vanished continues with another runner, and sends nothing twice")
    func takenOver() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.die(["e1", "e2", "e3"])
            fixture.takeAll()
            // A runner that never returns: one delivery is in the ledger again, and its resume was never sent.
            let held = ReplayStore(pool: fixture.servers.pool, runner: "vanished", horizon: PipelineFixture.horizon)
            let id = try await fixture.start(pace: .init(rate: 1))
            _ = try await fixture.servers.owner.run(
                Statement(
                    "UPDATE replays SET runner = 'vanished', runner_until = now() + interval '2 s' WHERE id = $1"
                ),
                [.integer(id)]
            )
            let inHand = try await held.next(of: id, atMost: 1)
            let resumes = try await held.send(deliveries: inHand.map(\.position), of: id)
            #expect(resumes.count == 1)
            let progress = try await fixture.wait(for: id)
            #expect(progress.outcomes == [.delivered: 3])
            #expect(fixture.peer.arrivals.values.allSatisfy { $0 == 2 })
        }
    }
}
