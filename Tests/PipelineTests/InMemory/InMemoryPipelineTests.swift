import AMQP
import BellhopRules
import IntegrationSupport
import Push
import TestSupport
import Testing

@testable import Pipeline

/// Processes whole batches in milliseconds.
///
/// Tests against real servers are the proof; these show first where a step breaks.
@Suite("Batches, without servers")
struct InMemoryPipelineTests {
    private static let busy = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)

    @Test("an event becomes a record and a push, is settled, and then acknowledged")
    func good() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.provider.sent == ["d"])
        #expect(fixture.lines() == ["u d": "delivered"])
    }

    @Test("a duplicate of an event sends nothing, in the same batch or a later one, and is done")
    func duplicates() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        let copies = [fixture.event("e", to: ["u"]), fixture.event("e", to: ["u"])]
        #expect(await fixture.take(copies) == [0, 1])
        #expect(await fixture.take([fixture.event("e", to: ["u"], redelivered: true)]) == [0])
        #expect(fixture.provider.sent == ["d"])
    }

    @Test("of several events of a burst in one batch, one is sent, and the others wait for the end of its window")
    func burstInOneBatch() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.catalogs.replace(
            try ServerFixture.shipped(
                "drop",
                replacing: "    transaction_complete: {",
                with: #"    transaction_complete: { burst: { window: "1h" },"#
            )
        )
        let events = (1...3).map { number in
            fixture.message(
                #"{"id":"e\#(number)","to":{"user":"u"},"title":"Hei","body":"x","collapseKey":"k"}"#,
                type: "transaction_complete"
            )
        }
        #expect(await fixture.take(events) == [0, 1, 2])
        #expect(fixture.provider.sent == ["d"])
        let states = fixture.store.state.withLock { $0.lines.values.map { "\($0.state) \($0.reason ?? "-")" } }
        #expect(states.sorted() == ["deferred burst", "deferred burst", "delivered -"])
    }

    @Test("other content under a known id is a dead letter, and the first content stays")
    func conflict() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        await fixture.take([fixture.event("e", to: ["u"])])
        #expect(await fixture.take([fixture.event("e", to: ["u"], title: "Hallo")]) == [0])
        #expect(fixture.deadLetters() == ["id-conflict"])
        #expect(fixture.provider.sent == ["d"])
    }

    @Test("a delivery that the provider cannot accept waits in a tier and is sent, and the third failure gives it up")
    func retries() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        try fixture.person("v", device: "f")
        fixture.provider.answer([Self.busy])
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.lines() == ["u d": "retrying"])
        #expect(await fixture.take(fixture.resumes()) == [0])
        #expect(fixture.lines() == ["u d": "delivered"])
        fixture.provider.answer([Self.busy, Self.busy, Self.busy])
        await fixture.take([fixture.event("f", to: ["v"])])
        for _ in 0..<2 { await fixture.take(fixture.resumes()) }
        #expect(fixture.lines()["v f"] == "failed")
        #expect(fixture.deadLetters() == ["attempts-exhausted"])
        #expect(fixture.resumes().isEmpty)
    }

    @Test("a retry waits in the ledger, and its message is done, while the broker has an alarm")
    func alarm() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.provider.answer([Self.busy])
        fixture.broker.state.withLock { $0.isBlocked = true }
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.lines() == ["u d": "deferred"])
        fixture.broker.state.withLock { $0.isBlocked = false }
        #expect(fixture.resumes().isEmpty)
        fixture.time.skip(.seconds(10))
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.lines() == ["u d": "delivered"])
    }

    @Test("a resume without a confirm is left to the sweeper after a short time, and its message is done")
    func unconfirmedResume() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.provider.answer([Self.busy])
        fixture.broker.state.withLock { $0.refusalsToCome = 1_000 }
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.lines() == ["u d": "deferred"])
    }

    @Test("a delivery of another batch needs no resume while the broker has an alarm")
    func leasedDuringAlarm() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.provider.answer([Self.busy])
        await fixture.take([fixture.event("e", to: ["u"])])
        fixture.store.state.withLock { state in
            for key in state.lines.keys {
                state.lines[key]?.state = .sending
                state.lines[key]?.dueAt = nil
            }
        }
        fixture.broker.state.withLock { $0.isBlocked = true }
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        let dueTimes = fixture.store.state.withLock { $0.lines.values.compactMap(\.dueAt) }
        #expect(dueTimes.count == 1)
    }

    @Test("a page whose record has no reply is sent immediately, and no outcome is unknown")
    func pageWithoutReply() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.store.state.withLock { $0.losesRecord = true }
        await fixture.take([try fixture.page()])
        #expect(fixture.lines() == ["u d": "delivered"])
        let unknown = fixture.store.state.withLock { $0.lines.values.filter(\.outcomeIsUnknown).count }
        #expect(unknown == 0)
    }

    @Test("a recorded page is sent although its successor can be neither published nor returned to the scheduler")
    func pageWithoutSuccessor() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.broker.state.withLock { $0.isBlocked = true }
        fixture.store.state.withLock { $0.keepsPages = true }
        #expect(await fixture.take([try fixture.page()]) == [])
        #expect(fixture.lines() == ["u d": "delivered"])
        #expect(fixture.takeGivenUp().count == 1)
    }

    @Test("a sent delivery is settled although its task is cancelled and the database fails again")
    func cancelledWhileSending() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.provider.beforeAnswering { [store = fixture.store] in
            store.state.withLock { $0.failuresToCome = 1 }
            withUnsafeCurrentTask { $0?.cancel() }
        }
        await fixture.take([fixture.event("e", to: ["u"])])
        #expect(fixture.provider.sent == ["d"])
        #expect(fixture.lines() == ["u d": "delivered"])
    }

    @Test("a gone device ends its delivery and its subscription, without a dead letter")
    func deviceGone() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.provider.answer([.deviceGone(.unregistered, at: nil)])
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.lines() == ["u d": "failed"])
        #expect(fixture.store.state.withLock { $0.revoked } == ["d"])
        #expect(fixture.deadLetters().isEmpty)
    }

    @Test("an invalid message is a dead letter and stops no other, even while the broker rejects dead letters")
    func faults() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.broker.state.withLock { $0.refusalsToCome = 5 }
        let batch = [fixture.message("{"), fixture.event("e", to: ["u"])]
        #expect(await fixture.take(batch) == [0, 1])
        #expect(fixture.deadLetters() == ["malformed-json"])
        #expect(fixture.provider.sent == ["d"])
    }

    @Test("an event for later that would be too large when it is published again is rejected immediately")
    func tooLargeForLater() async throws {
        let fixture = try InMemoryFixture()
        let what = #""id":"e","to":{"user":"u"},"title":"Hei","body":"på deg","deliverAt":"2023-12-01T00:00:00Z""#
        let frame = #"{\#(what),"data":{"x":""}}"#
        let filling = String(repeating: "x", count: 262_140 - frame.utf8.count)
        let body = frame.replacingOccurrences(of: #""x":"""#, with: #""x":"\#(filling)""#)
        #expect(await fixture.take([fixture.message(body)]) == [0])
        #expect(fixture.deadLetters() == ["too-large"])
        let kept = fixture.store.state.withLock(\.plans)
        #expect(kept.isEmpty)
    }

    @Test("an expired event is recorded for the users whose settings permit it, and for no others")
    func expiredForNobody() async throws {
        let dropping = #"qr_payment: { whenMuted: "drop","#
        let catalogs = try ServerFixture.shipped("drop", replacing: "qr_payment: {", with: dropping)
        let fixture = try InMemoryFixture(catalogs: catalogs)
        try fixture.person("keen", device: "k")
        try fixture.person("tired", device: "t")
        try fixture.mute("tired")
        let body =
            #"{"id":"e","to":{"users":["keen","tired"]},"title":"Hei","body":"på deg","expiresAt":"2023-11-14T22:00:00Z"}"#
        #expect(await fixture.take([fixture.message(body, type: "qr_payment")]) == [0])
        let users = fixture.store.state.withLock { $0.records.keys.map(\.recipient.user.text) }
        #expect(users == ["keen"])
        #expect(fixture.provider.sent.isEmpty)
    }

    @Test("a record that the database rejects is a dead letter, and the other users of the event get theirs")
    func refusedByStore() async throws {
        let fixture = try InMemoryFixture()
        let users = (0..<9).map { "u\($0)" }
        for user in users { try fixture.person(user, device: "d-\(user)") }
        let culprit = try #require(UserID(validating: "u4"))
        fixture.store.state.withLock { $0.refused = [culprit] }
        #expect(await fixture.take([fixture.event("e", to: users)]) == [0])
        #expect(fixture.deadLetters() == ["refused-by-store"])
        #expect(fixture.provider.sent.count == 8)
    }

    @Test("an unavailable database is waited for: an event is recorded once and sent once")
    func databaseAway() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.store.state.withLock { $0.failuresToCome = 7 }
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.provider.sent == ["d"])
    }

    /// Returns an event that expires at this time of the day on which the fixture's clock begins, at 22:13:20.
    private static func event(expiringAt time: String, _ fixture: InMemoryFixture) -> IncomingMessage {
        fixture.message(
            #"{"id":"e","to":{"user":"u"},"title":"Hei","body":"på deg","expiresAt":"2023-11-14T\#(time)Z"}"#
        )
    }

    @Test("an event that expires while the database is unavailable is not sent, whether it is looked up or recorded")
    func expiredMeanwhile() async throws {
        for isRecording in [false, true] {
            let fixture = try InMemoryFixture()
            try fixture.person("u", device: "d")
            fixture.store.state.withLock { state in
                if isRecording { state.unrecordedToCome = 40 } else { state.failuresToCome = 40 }
            }
            #expect(await fixture.take([Self.event(expiringAt: "22:13:40", fixture)]) == [0])
            #expect(fixture.provider.sent.isEmpty)
            let states = Set(fixture.lines().values)
            #expect(states == ["expired"], "while it is \(isRecording ? "recorded" : "looked up")")
        }
    }

    @Test("a resumed delivery is decided by the time at which it can be sent")
    func resumedLate() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.provider.answer([Self.busy])
        await fixture.take([Self.event(expiringAt: "22:14:40", fixture)])
        // The retry is due a minute later.
        let resume = fixture.resumes()
        fixture.store.state.withLock { $0.failuresToCome = 40 }
        #expect(await fixture.take(resume) == [0])
        #expect(fixture.provider.sent == ["d"])
        #expect(fixture.lines() == ["u d": "expired"])
    }

    @Test("a decision long before its record is made again, and the push is sent once")
    func decidedAnew() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.store.state.withLock { $0.unrecordedToCome = 40 }
        #expect(await fixture.take([fixture.event("e", to: ["u"]), fixture.event("e", to: ["u"])]) == [0, 1])
        #expect(fixture.provider.sent == ["d"])
        #expect(fixture.lines() == ["u d": "delivered"])
        let claims = fixture.store.state.withLock(\.claimSizes)
        #expect(claims == [1])
    }

    @Test("more deliveries than one statement may claim are decided again under the claim that recorded them")
    func manyDecidedAnew() async throws {
        let fixture = try InMemoryFixture()
        let users = (0..<1_100).map { "u\($0)" }
        for user in users { try fixture.person(user, device: "d-\(user)") }
        fixture.store.state.withLock { $0.unrecordedToCome = 40 }
        let events = [0..<600, 600..<1_100].enumerated().map { fixture.event("e\($0)", to: Array(users[$1])) }
        #expect(await fixture.take(events) == [0, 1])
        #expect(Set(fixture.provider.sent).count == 1_100 && fixture.provider.sent.count == 1_100)
        #expect(fixture.resumes().isEmpty)
        let unknown = fixture.store.state.withLock { $0.lines.values.count(where: \.outcomeIsUnknown) }
        #expect(unknown == 0)
    }

    @Test("a drain gives up messages that the database does not accept, and acknowledges none of them")
    func drained() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d")
        fixture.store.state.withLock { $0.failuresToCome = 1_000 }
        fixture.drain.fire()
        let event = fixture.event("e", to: ["u"])
        #expect(await fixture.take([event]).isEmpty)
        #expect(fixture.provider.sent.isEmpty)
        fixture.store.state.withLock { $0.failuresToCome = 0 }
        #expect(await fixture.take([event]) == [0])
        #expect(fixture.provider.sent == ["d"])
    }

    @Test("after any failures each user has each event once, nothing is left, and all acknowledged events are settled")
    func storm() async throws {
        for seed in UInt64(1)...20 {
            var chance = SeededChance(seed)
            let budget = PushBudget(name: "drop/fcm", pushes: 100, period: .seconds(1))
            let fixture = try InMemoryFixture(seed: seed, budget: budget)
            let users = (0..<5).map { "u\($0)" }
            for user in users { try fixture.person(user, device: "d-\(user)") }
            var waiting = (0..<40).map { fixture.event("e\($0)", to: Array(users.shuffled(using: &chance).prefix(2))) }
            let sent = waiting.count
            for _ in 0..<400 where !waiting.isEmpty {
                let size = Int.random(in: 1...12, using: &chance)
                let batch = Array(waiting.prefix(size))
                fixture.trouble(&chance)
                let done = Set(await fixture.take(batch))
                // Unacknowledged messages are redelivered, and some acknowledged ones are repeated.
                waiting = Array(waiting.dropFirst(size))
                waiting += batch.enumerated().filter { place, _ in
                    !done.contains(place) || Int.random(in: 0..<8, using: &chance) == 0
                }.map(\.element)
                waiting += fixture.resumes()
                if Bool.random(using: &chance) { await fixture.pull() }
            }
            fixture.calm()
            for _ in 0..<20 {
                await fixture.take(waiting + fixture.resumes())
                fixture.time.skip(.seconds(61))
                await fixture.pull()
            }
            let lines = fixture.store.state.withLock { Array($0.lines.values) }
            #expect(lines.count == sent * 2, "seed \(seed)")
            let ended = lines.filter { $0.state == .delivered || $0.state == .failed }
            #expect(ended.count == sent * 2, "seed \(seed)")
            let givenUp = Set(fixture.deadLetterBodies())
            #expect(givenUp.count == lines.count { $0.state == .failed }, "seed \(seed)")
        }
    }
}

extension InMemoryFixture {
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
