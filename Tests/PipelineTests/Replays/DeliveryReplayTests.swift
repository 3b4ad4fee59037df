import BellhopRules
import Postgres
import Sandbox
import Store
import TestSupport
import Testing
import Workbench

@Suite("Replays of deliveries", .inTurn, .enabled(if: serversAreThere, "needs both servers"), .timeLimit(.ofTest))
struct DeliveryReplayTests {
    @Test("a given-up delivery goes out once more through the ledger, and nothing else of its notification does")
    func replayed() async throws {
        try await ReplayGround.with { ground in
            try await ground.die(["e1", "e2"])
            ground.takeAll()
            let progress = try await ground.wait(for: try await ground.start())
            #expect(progress.outcomes == [.delivered: 2])
            #expect(progress.replay.state == .done)
            let items = try await ground.items()
            #expect(items == ["resolved|1|1|delivered", "resolved|1|1|delivered"])
            let ledger = try await ground.counterpart.ledger()
            #expect(ledger == ["u1|delivered|2", "u1|delivered|2"])
            #expect(ground.counterpart.arrivals.values.allSatisfy { $0 == 2 })
            let notifications = try await ground.bench.count("SELECT count(*) FROM notifications")
            #expect(notifications == 2)
            let audit = try await ground.desk.auditLog(atMost: 5)
            #expect(audit.map { "\($0.operator) \($0.act) \($0.items)" } == ["ada replay 2"])
        }
    }

    @Test("a delivery that a receipt gave up is one of the ledger like any other: a replay sends it once more")
    func givenUpByReceipt() async throws {
        try await ReplayGround.with(over: .expo) { ground in
            let tooBig = SandboxFault(.expo, .answer(.init(status: 500, reason: "MessageTooBig")), match: "receipt")
            ground.counterpart.sandbox.setFaults([tooBig])
            try await ground.counterpart.register([("u1", "a")])
            try await ground.counterpart.publish(["e1"], to: ["u1"])
            try await ground.rig.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'failed'")
            try await ground.rig.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE stage = 'receipt' AND notification_id IS NOT NULL"
            )
            ground.takeAll()
            let progress = try await ground.wait(for: try await ground.start())
            #expect(progress.outcomes == [.delivered: 1])
            try await ground.counterpart.waitUntilAnswered(1)
            let ledger = try await ground.counterpart.ledger()
            #expect(ledger == ["u1|delivered|2"])
        }
    }

    @Test("what dies again is the same item: one death older, open, with its history; the cap then leaves it out")
    func diesAgain() async throws {
        try await ReplayGround.with { ground in
            try await ground.die(["e1"])
            for deaths in 2...3 {
                let progress = try await ground.wait(for: try await ground.start())
                #expect(progress.outcomes == [.failed: 1])
                try await ground.rig.wait(for: deaths, "SELECT deaths::bigint FROM dead_letters WHERE state = 'open'")
            }
            let items = try await ground.items()
            #expect(items == ["open|3|2"])
            let history = try await ground.bench.count("SELECT count(*) FROM dead_letter_history WHERE kind = 'died'")
            #expect(history == 2)
            let survey = try await ground.book.survey(ground.order(perItem: 2))
            #expect(survey.eligible.items == 0)
            #expect(survey.tooOften == 1)
            let start = try await ground.book.start(ground.order(perItem: 2), agreed: 1, by: ReplayGround.ada)
            #expect(start == .nothingToDo)
        }
    }

    @Test("what the ledger shows as sent is not sent again, whatever the item says")
    func alreadyDelivered() async throws {
        try await ReplayGround.with { ground in
            try await ground.die(["e1"])
            _ = try await ground.bench.owner.run("UPDATE deliveries SET state = 'delivered'")
            ground.takeAll()
            let progress = try await ground.wait(for: try await ground.start())
            #expect(progress.outcomes == [.alreadyDelivered: 1])
            #expect(ground.counterpart.arrivals.values.map { $0 } == [1])
        }
    }

    @Test("the user's word at the time of the replay wins")
    func mutedMeanwhile() async throws {
        try await ReplayGround.with { ground in
            try await ground.die(["e1"])
            ground.takeAll()
            let mute = #"{"userId":"u1","preferences":{"enabled":false}}"#
            try await ground.rig.publish([ground.rig.event(mute, key: "drop.recipient.upserted")])
            try await ground.rig.wait(for: 1, "SELECT count(*) FROM notification_preferences")
            let progress = try await ground.wait(for: try await ground.start())
            #expect(progress.outcomes == [.suppressed: 1])
            let items = try await ground.items()
            #expect(items == ["resolved|1|1|suppressed, muted"])
        }
    }

    @Test("a replay takes what was there when it began; another one may not hold the same items")
    func frozenAndAlone() async throws {
        try await ReplayGround.with { ground in
            try await ground.die(["e1", "e2"])
            let id = try await ground.start(pace: .init(rate: 1))
            _ = try await ground.book.control(id, .pause, by: ReplayGround.ada)
            let overlap = try await ground.book.start(ground.order(), agreed: 9, by: ReplayGround.ada)
            #expect(overlap == .overlaps(id: id))
            try await ground.counterpart.publish(["e3"], to: ["u1"])
            try await ground.rig.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE event_id = 'e3'")
            ground.takeAll()
            _ = try await ground.book.control(id, .resume, by: ReplayGround.ada)
            let progress = try await ground.wait(for: id)
            #expect(progress.settled == 2)
            let open = try await ground.bench.column("SELECT event_id FROM dead_letters WHERE state = 'open'")
            #expect(open == ["e3"])
        }
    }

    @Test("a cancelled replay opens at once what had not gone out, and what had comes to its end")
    func cancelled() async throws {
        try await ReplayGround.with { ground in
            try await ground.die((0..<30).map { "e\($0)" })
            ground.takeAll()
            let id = try await ground.start(pace: .init(rate: 10))
            _ = try await ground.wait(for: id) { $0.settled > 0 }
            let didCancel = try await ground.book.control(id, .cancel, by: ReplayGround.ada)
            #expect(didCancel)
            let progress = try await ground.wait(for: id)
            #expect(progress.replay.state == .cancelled)
            #expect(progress.settled == 30)
            let (sent, left) = (progress.outcomes[.delivered] ?? 0, progress.outcomes[.cancelled] ?? 0)
            #expect(sent + left == 30)
            #expect(left > 0)
            let open = try await ground.bench.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            #expect(open == left)
            let again = try await ground.book.control(id, .resume, by: ReplayGround.ada)
            #expect(!again)
        }
    }

    @Test("a ramp stops at its first failure, before anything else goes out; resumed, it goes on")
    func ramped() async throws {
        try await ReplayGround.with { ground in
            try await ground.die((0..<12).map { "e\($0)" })
            let id = try await ground.start(pace: .init(isRamped: true))
            let paused = try await ground.wait(for: id) { $0.replay.state == .paused && $0.underWay == 0 }
            #expect(paused.outcomes == [.failed: 1])
            #expect(paused.waiting == 11)
            #expect(paused.replay.pauseReason == "1 of the last 1 failed")
            ground.takeAll()
            _ = try await ground.book.control(id, .resume, by: ReplayGround.ada)
            let progress = try await ground.wait(for: id)
            #expect(progress.outcomes == [.failed: 1, .delivered: 11])
            let acts = try await ground.desk.auditLog(atMost: 9).map { "\($0.operator) \($0.act)" }
            #expect(acts == ["ada resume", "bellhop pause", "ada replay"])
        }
    }

    @Test("without a ramp too many failures pause it as well")
    func failing() async throws {
        try await ReplayGround.with { ground in
            // Slow enough that the failures of the first ones are known before the last one goes out.
            try await ground.die((0..<120).map { "e\($0)" })
            let id = try await ground.start(pace: .init(rate: 6, pauseShare: 50))
            let paused = try await ground.wait(for: id) { $0.replay.state == .paused }
            #expect(paused.waiting > 0)
            #expect(paused.replay.pauseReason?.contains("failed") == true)
        }
    }

    @Test("a replay whose runner vanished goes on with another, and sends nothing twice")
    func takenOver() async throws {
        try await ReplayGround.with { ground in
            try await ground.die(["e1", "e2", "e3"])
            ground.takeAll()
            // Held by somebody who never comes back: one delivery is in the ledger again, and its resume was never sent.
            let held = ReplayRunBook(pool: ground.bench.pool, runner: "vanished", horizon: Rig.horizon)
            let id = try await ground.start(pace: .init(rate: 1))
            _ = try await ground.bench.owner.run(
                Statement(
                    "UPDATE replays SET runner = 'vanished', runner_until = now() + interval '2 s' WHERE id = $1"
                ),
                [.integer(id)]
            )
            let inHand = try await held.next(of: id, atMost: 1)
            let resumes = try await held.send(deliveries: inHand.map(\.position), of: id)
            #expect(resumes.count == 1)
            let progress = try await ground.wait(for: id)
            #expect(progress.outcomes == [.delivered: 3])
            #expect(ground.counterpart.arrivals.values.allSatisfy { $0 == 2 })
        }
    }
}
