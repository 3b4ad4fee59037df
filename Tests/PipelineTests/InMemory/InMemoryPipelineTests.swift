import AMQP
import BellhopRules
import Push
import TestSupport
import Testing
import Workbench

@testable import Pipeline

/// Processes whole batches in milliseconds.
///
/// Tests against real servers are the proof; these show first where a step breaks.
@Suite("Batches, without servers")
struct InMemoryPipelineTests {
    private static let busy = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)

    @Test("an event becomes a record and a push, is settled, and then acknowledged")
    func good() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.provider.sent == ["d"])
        #expect(ground.lines() == ["u d": "delivered"])
    }

    @Test("a duplicate of an event sends nothing, in the same batch or a later one, and is done")
    func duplicates() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        let copies = [ground.event("e", to: ["u"]), ground.event("e", to: ["u"])]
        #expect(await ground.take(copies) == [0, 1])
        #expect(await ground.take([ground.event("e", to: ["u"], redelivered: true)]) == [0])
        #expect(ground.provider.sent == ["d"])
    }

    @Test("of several events of a burst in one batch, one is sent, and the others wait for the end of its window")
    func burstInOneBatch() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.catalogs.replace(
            try Bench.shipped(
                "drop",
                replacing: "    transaction_complete: {",
                with: #"    transaction_complete: { burst: { window: "1h" },"#
            )
        )
        let events = (1...3).map { number in
            ground.message(
                #"{"id":"e\#(number)","to":{"user":"u"},"title":"Hei","body":"x","collapseKey":"k"}"#,
                type: "transaction_complete"
            )
        }
        #expect(await ground.take(events) == [0, 1, 2])
        #expect(ground.provider.sent == ["d"])
        let states = ground.store.state.withLock { $0.lines.values.map { "\($0.state) \($0.reason ?? "-")" } }
        #expect(states.sorted() == ["deferred burst", "deferred burst", "delivered -"])
    }

    @Test("other content under a known id is a dead letter, and the first content stays")
    func conflict() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        await ground.take([ground.event("e", to: ["u"])])
        #expect(await ground.take([ground.event("e", to: ["u"], title: "Hallo")]) == [0])
        #expect(ground.deadLetters() == ["id-conflict"])
        #expect(ground.provider.sent == ["d"])
    }

    @Test("a delivery that the provider cannot accept waits in a tier and is sent, and the third failure gives it up")
    func retries() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        try ground.person("v", device: "f")
        ground.provider.answer([Self.busy])
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.lines() == ["u d": "retrying"])
        #expect(await ground.take(ground.resumes()) == [0])
        #expect(ground.lines() == ["u d": "delivered"])
        ground.provider.answer([Self.busy, Self.busy, Self.busy])
        await ground.take([ground.event("f", to: ["v"])])
        for _ in 0..<2 { await ground.take(ground.resumes()) }
        #expect(ground.lines()["v f"] == "failed")
        #expect(ground.deadLetters() == ["attempts-exhausted"])
        #expect(ground.resumes().isEmpty)
    }

    @Test("a retry waits in the ledger, and its message is done, while the broker has an alarm")
    func alarm() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.provider.answer([Self.busy])
        ground.broker.state.withLock { $0.isBlocked = true }
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.lines() == ["u d": "deferred"])
        ground.broker.state.withLock { $0.isBlocked = false }
        #expect(ground.resumes().isEmpty)
        ground.time.skip(.seconds(10))
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.lines() == ["u d": "delivered"])
    }

    @Test("a resume without a confirm is left to the sweeper after a short time, and its message is done")
    func unconfirmedResume() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.provider.answer([Self.busy])
        ground.broker.state.withLock { $0.refusalsToCome = 1_000 }
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.lines() == ["u d": "deferred"])
    }

    @Test("a delivery of another batch needs no resume while the broker has an alarm")
    func leasedDuringAlarm() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.provider.answer([Self.busy])
        await ground.take([ground.event("e", to: ["u"])])
        ground.store.state.withLock { state in
            for key in state.lines.keys {
                state.lines[key]?.state = .sending
                state.lines[key]?.dueAt = nil
            }
        }
        ground.broker.state.withLock { $0.isBlocked = true }
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        let dueTimes = ground.store.state.withLock { $0.lines.values.compactMap(\.dueAt) }
        #expect(dueTimes.count == 1)
    }

    @Test("a page whose record has no reply is sent immediately, and no outcome is unknown")
    func pageWithoutReply() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.store.state.withLock { $0.losesRecord = true }
        await ground.take([try ground.page()])
        #expect(ground.lines() == ["u d": "delivered"])
        let unknown = ground.store.state.withLock { $0.lines.values.filter(\.outcomeIsUnknown).count }
        #expect(unknown == 0)
    }

    @Test("a recorded page is sent although its successor can be neither published nor returned to the scheduler")
    func pageWithoutSuccessor() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.broker.state.withLock { $0.isBlocked = true }
        ground.store.state.withLock { $0.keepsPages = true }
        #expect(await ground.take([try ground.page()]) == [])
        #expect(ground.lines() == ["u d": "delivered"])
        #expect(ground.takeGivenUp().count == 1)
    }

    @Test("a sent delivery is settled although its task is cancelled and the database fails again")
    func cancelledWhileSending() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.provider.beforeAnswering { [store = ground.store] in
            store.state.withLock { $0.failuresToCome = 1 }
            withUnsafeCurrentTask { $0?.cancel() }
        }
        await ground.take([ground.event("e", to: ["u"])])
        #expect(ground.provider.sent == ["d"])
        #expect(ground.lines() == ["u d": "delivered"])
    }

    @Test("a gone device ends its delivery and its subscription, without a dead letter")
    func deviceGone() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.provider.answer([.deviceGone(.unregistered, at: nil)])
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.lines() == ["u d": "failed"])
        #expect(ground.store.state.withLock { $0.revoked } == ["d"])
        #expect(ground.deadLetters().isEmpty)
    }

    @Test("an invalid message is a dead letter and stops no other, even while the broker rejects dead letters")
    func faults() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.broker.state.withLock { $0.refusalsToCome = 5 }
        let batch = [ground.message("{"), ground.event("e", to: ["u"])]
        #expect(await ground.take(batch) == [0, 1])
        #expect(ground.deadLetters() == ["malformed-json"])
        #expect(ground.provider.sent == ["d"])
    }

    @Test("an event for later that would be too large when it is published again is rejected immediately")
    func tooLargeForLater() async throws {
        let ground = try SpineGround()
        let what = #""id":"e","to":{"user":"u"},"title":"Hei","body":"på deg","deliverAt":"2023-12-01T00:00:00Z""#
        let frame = #"{\#(what),"data":{"x":""}}"#
        let filling = String(repeating: "x", count: 262_140 - frame.utf8.count)
        let body = frame.replacingOccurrences(of: #""x":"""#, with: #""x":"\#(filling)""#)
        #expect(await ground.take([ground.message(body)]) == [0])
        #expect(ground.deadLetters() == ["too-large"])
        let kept = ground.store.state.withLock(\.plans)
        #expect(kept.isEmpty)
    }

    @Test("an expired event is recorded for the users whose settings permit it, and for no others")
    func expiredForNobody() async throws {
        let dropping = #"qr_payment: { whenMuted: "drop","#
        let catalogs = try Bench.shipped("drop", replacing: "qr_payment: {", with: dropping)
        let ground = try SpineGround(catalogs: catalogs)
        try ground.person("keen", device: "k")
        try ground.person("tired", device: "t")
        try ground.mute("tired")
        let body =
            #"{"id":"e","to":{"users":["keen","tired"]},"title":"Hei","body":"på deg","expiresAt":"2023-11-14T22:00:00Z"}"#
        #expect(await ground.take([ground.message(body, type: "qr_payment")]) == [0])
        let users = ground.store.state.withLock { $0.records.keys.map(\.recipient.user.text) }
        #expect(users == ["keen"])
        #expect(ground.provider.sent.isEmpty)
    }

    @Test("a record that the database rejects is a dead letter, and the other users of the event get theirs")
    func refusedByStore() async throws {
        let ground = try SpineGround()
        let users = (0..<9).map { "u\($0)" }
        for user in users { try ground.person(user, device: "d-\(user)") }
        let culprit = try #require(UserID(validating: "u4"))
        ground.store.state.withLock { $0.refused = [culprit] }
        #expect(await ground.take([ground.event("e", to: users)]) == [0])
        #expect(ground.deadLetters() == ["refused-by-store"])
        #expect(ground.provider.sent.count == 8)
    }

    @Test("an unavailable database is waited for: an event is recorded once and sent once")
    func databaseAway() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.store.state.withLock { $0.failuresToCome = 7 }
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.provider.sent == ["d"])
    }

    /// Returns an event that expires at this time of the day on which the fixture's clock begins, at 22:13:20.
    private static func event(expiringAt time: String, _ ground: SpineGround) -> IncomingMessage {
        ground.message(
            #"{"id":"e","to":{"user":"u"},"title":"Hei","body":"på deg","expiresAt":"2023-11-14T\#(time)Z"}"#
        )
    }

    @Test("an event that expires while the database is unavailable is not sent, whether it is looked up or recorded")
    func expiredMeanwhile() async throws {
        for isRecording in [false, true] {
            let ground = try SpineGround()
            try ground.person("u", device: "d")
            ground.store.state.withLock { state in
                if isRecording { state.unrecordedToCome = 40 } else { state.failuresToCome = 40 }
            }
            #expect(await ground.take([Self.event(expiringAt: "22:13:40", ground)]) == [0])
            #expect(ground.provider.sent.isEmpty)
            let states = Set(ground.lines().values)
            #expect(states == ["expired"], "while it is \(isRecording ? "recorded" : "looked up")")
        }
    }

    @Test("a resumed delivery is decided by the time at which it can be sent")
    func resumedLate() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.provider.answer([Self.busy])
        await ground.take([Self.event(expiringAt: "22:14:40", ground)])
        // The retry is due a minute later.
        let resume = ground.resumes()
        ground.store.state.withLock { $0.failuresToCome = 40 }
        #expect(await ground.take(resume) == [0])
        #expect(ground.provider.sent == ["d"])
        #expect(ground.lines() == ["u d": "expired"])
    }

    @Test("a decision long before its record is made again, and the push is sent once")
    func decidedAnew() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.store.state.withLock { $0.unrecordedToCome = 40 }
        #expect(await ground.take([ground.event("e", to: ["u"]), ground.event("e", to: ["u"])]) == [0, 1])
        #expect(ground.provider.sent == ["d"])
        #expect(ground.lines() == ["u d": "delivered"])
        let claims = ground.store.state.withLock(\.claimSizes)
        #expect(claims == [1])
    }

    @Test("more deliveries than one statement may claim are decided again under the claim that recorded them")
    func manyDecidedAnew() async throws {
        let ground = try SpineGround()
        let users = (0..<1_100).map { "u\($0)" }
        for user in users { try ground.person(user, device: "d-\(user)") }
        ground.store.state.withLock { $0.unrecordedToCome = 40 }
        let events = [0..<600, 600..<1_100].enumerated().map { ground.event("e\($0)", to: Array(users[$1])) }
        #expect(await ground.take(events) == [0, 1])
        #expect(Set(ground.provider.sent).count == 1_100 && ground.provider.sent.count == 1_100)
        #expect(ground.resumes().isEmpty)
        let unknown = ground.store.state.withLock { $0.lines.values.count(where: \.outcomeIsUnknown) }
        #expect(unknown == 0)
    }

    @Test("a drain gives up messages that the database does not accept, and acknowledges none of them")
    func drained() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d")
        ground.store.state.withLock { $0.failuresToCome = 1_000 }
        ground.drain.fire()
        let event = ground.event("e", to: ["u"])
        #expect(await ground.take([event]).isEmpty)
        #expect(ground.provider.sent.isEmpty)
        ground.store.state.withLock { $0.failuresToCome = 0 }
        #expect(await ground.take([event]) == [0])
        #expect(ground.provider.sent == ["d"])
    }

    @Test("after any failures each user has each event once, nothing is left, and all acknowledged events are settled")
    func storm() async throws {
        for seed in UInt64(1)...20 {
            var chance = SeededChance(seed)
            let budget = PushBudget(name: "drop/fcm", pushes: 100, period: .seconds(1))
            let ground = try SpineGround(seed: seed, budget: budget)
            let users = (0..<5).map { "u\($0)" }
            for user in users { try ground.person(user, device: "d-\(user)") }
            var waiting = (0..<40).map { ground.event("e\($0)", to: Array(users.shuffled(using: &chance).prefix(2))) }
            let sent = waiting.count
            for _ in 0..<400 where !waiting.isEmpty {
                let size = Int.random(in: 1...12, using: &chance)
                let batch = Array(waiting.prefix(size))
                ground.trouble(&chance)
                let done = Set(await ground.take(batch))
                // Unacknowledged messages are redelivered, and some acknowledged ones are repeated.
                waiting = Array(waiting.dropFirst(size))
                waiting += batch.enumerated().filter { place, _ in
                    !done.contains(place) || Int.random(in: 0..<8, using: &chance) == 0
                }.map(\.element)
                waiting += ground.resumes()
                if Bool.random(using: &chance) { await ground.pull() }
            }
            ground.calm()
            for _ in 0..<20 {
                await ground.take(waiting + ground.resumes())
                ground.time.skip(.seconds(61))
                await ground.pull()
            }
            let lines = ground.store.state.withLock { Array($0.lines.values) }
            #expect(lines.count == sent * 2, "seed \(seed)")
            let ended = lines.filter { $0.state == .delivered || $0.state == .failed }
            #expect(ended.count == sent * 2, "seed \(seed)")
            let givenUp = Set(ground.deadLetterBodies())
            #expect(givenUp.count == lines.count { $0.state == .failed }, "seed \(seed)")
        }
    }
}

extension SpineGround {
    /// Applies some of the failures that can happen during a batch.
    fileprivate func trouble(_ chance: inout SeededChance) {
        if Int.random(in: 0..<4, using: &chance) == 0 {
            let failures = Int.random(in: 1...6, using: &chance)
            store.state.withLock { $0.failuresToCome = failures }
        }
        if Int.random(in: 0..<4, using: &chance) == 0 {
            let refusals = Int.random(in: 1...4, using: &chance)
            broker.state.withLock { $0.refusalsToCome = refusals }
        }
        let budget = [nil, 0, Int.random(in: 1...5, using: &chance)].randomElement(using: &chance) ?? nil
        store.state.withLock { $0.budget = budget }
        let verdicts: [Verdict] = [
            .delivered(providerMessageID: "m"), .retry(.unavailable, notBefore: .seconds(5), scope: .message),
            .unknown(.timeout, notBefore: .zero), .payloadError(.payloadTooLarge),
        ]
        for _ in 0..<Int.random(in: 0...4, using: &chance) {
            if let verdict = verdicts.randomElement(using: &chance) { provider.answer([verdict]) }
        }
    }

    fileprivate func calm() {
        store.state.withLock { state in
            state.failuresToCome = 0
            state.budget = nil
        }
        broker.state.withLock { $0.refusalsToCome = 0 }
    }

    /// Returns the bodies of the dead letters.
    fileprivate func deadLetterBodies() -> [[UInt8]] {
        broker.messages(at: "spine.dead").map(\.body)
    }
}
