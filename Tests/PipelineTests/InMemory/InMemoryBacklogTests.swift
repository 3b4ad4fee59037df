import AMQP
import BellhopRules
import IntegrationSupport
import Push
import ServiceRuntime
import TestSupport
import Testing

@testable import Pipeline
@testable import Store

/// Tests of deliveries that cannot be started immediately, without servers.
@Suite("Backlogs, without servers")
struct InMemoryBacklogTests {
    private static let budget = PushBudget(name: "drop/fcm", pushes: 100, period: .seconds(1))
    private static let refused = Verdict.configError(.permissionDenied, scope: .provider)

    /// Returns a fixture with these users, each with a device of the same name.
    private static func fixture(_ users: [String], budget: PushBudget? = nil) throws -> InMemoryFixture {
        let fixture = try InMemoryFixture(budget: budget)
        for user in users { try fixture.person(user, device: user) }
        return fixture
    }

    private static func versions(_ fixture: InMemoryFixture) -> [Int] {
        fixture.store.state.withLock { $0.lines.values.map(\.versions).sorted() }
    }

    private static func reasons(_ fixture: InMemoryFixture) -> Set<String> {
        Set(fixture.store.state.withLock { $0.lines.values.map { "\($0.state) \($0.reason ?? "-")" } })
    }

    @Test("deliveries without room are written once and wait unchanged, and are sent in order when there is room")
    func order() async throws {
        let users = ["a", "b", "c", "d"]
        let fixture = try Self.fixture(users, budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        for (number, user) in users.enumerated() {
            #expect(await fixture.take([fixture.event("e\(number)", to: [user])]) == [0])
            fixture.time.skip(.seconds(10))
        }
        #expect(Self.reasons(fixture) == ["deferred window-full"])
        #expect(fixture.backlogs == ["drop/fcm"])
        #expect(fixture.resumes().isEmpty)
        fixture.time.skip(.seconds(3600))
        await fixture.pull()
        #expect(Self.versions(fixture) == [2, 2, 2, 2])
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(.seconds(1))
        await fixture.pull()
        #expect(fixture.provider.sent == users)
        #expect(Self.versions(fixture) == [4, 4, 4, 4])
        #expect(fixture.backlogs.isEmpty)
        fixture.time.skip(.seconds(1))
        await fixture.take([fixture.event("live", to: ["b"])])
        #expect(fixture.provider.sent.last == "b")
    }

    @Test("a poll that waited for the database does not delay the next one from the beginning")
    func pollAfterOutage() async throws {
        let fixture = try Self.fixture(["a"])
        var poller = fixture.poller
        func wholePolls(in seconds: Int64) async -> Int {
            let before = fixture.store.state.withLock(\.wholePolls)
            for _ in 0..<seconds {
                fixture.time.skip(.seconds(1))
                await poller.look(every: .seconds(1))
            }
            return fixture.store.state.withLock(\.wholePolls) - before
        }
        await poller.look(every: .seconds(1))
        #expect(await wholePolls(in: 20) == 2)
        /// Polls from the beginning, which takes six seconds.
        func pollSlowly() async {
            fixture.store.state.withLock { $0.pollTakes = .seconds(6) }
            fixture.time.skip(.seconds(10))
            await poller.look(every: .seconds(1))
            fixture.store.state.withLock { $0.pollTakes = .zero }
        }
        fixture.time.skip(.seconds(10))
        fixture.store.state.withLock { $0.failuresToCome = 1 }
        await poller.look(every: .seconds(1))
        await pollSlowly()
        #expect(await wholePolls(in: 10) == 1)
        // After a poll that took as long without a failure, the next one follows in a minute.
        await pollSlowly()
        #expect(await wholePolls(in: 40) == 0)
        #expect(await wholePolls(in: 20) > 0)
    }

    @Test("new deliveries join a backlog while one waits, unless they are more urgent than all of it")
    func fairness() async throws {
        let fixture = try Self.fixture(["old", "new", "urgent", "late"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e1", to: ["old"], type: "transaction_complete")])
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(.seconds(20))
        await fixture.take([fixture.event("e2", to: ["new"], type: "transaction_complete")])
        #expect(fixture.provider.sent.isEmpty)
        await fixture.take([fixture.event("e3", to: ["urgent"])])
        #expect(fixture.provider.sent == ["urgent"])
        await fixture.pull()
        #expect(fixture.provider.sent == ["urgent", "old", "new"])
        await fixture.take([fixture.event("e4", to: ["late"], type: "transaction_complete")])
        #expect(fixture.provider.sent == ["urgent", "old", "new", "late"])
    }

    @Test("a delivery that has waited for a moment sends no other to the backlog, and after two seconds it does")
    func moment() async throws {
        let fixture = try Self.fixture(["old", "soon", "late"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e1", to: ["old"])])
        fixture.store.state.withLock { $0.budget = nil }
        await fixture.look()
        await fixture.take([fixture.event("e2", to: ["soon"])])
        #expect(fixture.provider.sent == ["soon"])
        fixture.time.skip(.seconds(2))
        await fixture.take([fixture.event("e3", to: ["late"])])
        #expect(fixture.provider.sent == ["soon"])
        await fixture.pull()
        #expect(fixture.provider.sent == ["soon", "old", "late"])
        await fixture.look()
        #expect(fixture.backlogs.isEmpty)
    }

    @Test("deliveries that a pull has claimed are sent although its reply is lost, and no send counts as unknown")
    func lostPull() async throws {
        let fixture = try Self.fixture(["a", "b"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e", to: ["a", "b"])])
        fixture.store.state.withLock { state in
            state.budget = nil
            state.losesPull = true
        }
        fixture.time.skip(.seconds(20))
        await fixture.pull()
        #expect(Set(fixture.provider.sent) == ["a", "b"])
        #expect(Self.reasons(fixture) == ["delivered -"])
        let unknown = fixture.store.state.withLock { $0.lines.values.count(where: \.outcomeIsUnknown) }
        #expect(unknown == 0)
    }

    @Test("urgent deliveries of a backlog are sent first, whenever they joined it")
    func urgentOvertakes() async throws {
        let fixture = try Self.fixture(["normal", "urgent"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e1", to: ["normal"], type: "transaction_complete")])
        fixture.time.skip(.seconds(20))
        await fixture.take([fixture.event("e2", to: ["urgent"])])
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(.seconds(20))
        await fixture.pull()
        #expect(fixture.provider.sent == ["urgent", "normal"])
    }

    @Test("a waiting push of a replay is overtaken by new pushes of the same urgency")
    func replayed() async throws {
        let fixture = try Self.fixture(["replayed", "joining", "passing"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e1", to: ["replayed"])], lane: .bulk)
        fixture.time.skip(.seconds(20))
        await fixture.take([fixture.event("e2", to: ["joining"])])
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(.seconds(20))
        await fixture.pull()
        #expect(fixture.provider.sent == ["joining", "replayed"])
        // The unused shares of the budget are forgotten by then.
        fixture.time.skip(.seconds(2))
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e3", to: ["replayed"])], lane: .bulk)
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(.seconds(20))
        await fixture.take([fixture.event("e4", to: ["passing"])])
        #expect(fixture.provider.sent == ["joining", "replayed", "passing"])
    }

    @Test("a retry with an old turn is not overtaken by new deliveries, however short its time in the backlog")
    func oldTurn() async throws {
        let fixture = try Self.fixture(["old", "new"], budget: Self.budget)
        fixture.provider.answer([.retry(.unavailable, notBefore: .zero, scope: .message)])
        await fixture.take([fixture.event("e1", to: ["old"])])
        fixture.store.state.withLock { $0.budget = 0 }
        fixture.time.skip(.seconds(20))
        await fixture.take(fixture.resumes())
        #expect(fixture.backlogs == ["drop/fcm"])
        await fixture.look()
        fixture.store.state.withLock { $0.budget = nil }
        await fixture.take([fixture.event("e2", to: ["new"])])
        #expect(fixture.provider.sent == ["old"])
        await fixture.pull()
        #expect(fixture.provider.sent == ["old", "old", "new"])
    }

    @Test("a probe is requested only with a place for it, and returned if no delivery is found")
    func probes() async throws {
        let fixture = try Self.fixture(["a"], budget: Self.budget)
        fixture.provider.answer([Self.refused])
        await fixture.take([fixture.event("e", to: ["a"])])
        let probes = { fixture.store.state.withLock { $0.probes } }
        fixture.store.state.withLock { $0.budget = 0 }
        fixture.time.skip(.seconds(11))
        await fixture.pull()
        #expect(probes() == 0)
        // The state while another worker has claimed the delivery.
        let taken = fixture.store.state.withLock { state in
            let lines = state.lines
            for key in lines.keys { state.lines[key]?.backlog = nil }
            state.budget = nil
            return lines
        }
        fixture.time.skip(.seconds(1))
        await fixture.pull()
        #expect(probes() == 0)
        #expect(fixture.provider.sent == ["a"])
        fixture.store.state.withLock { $0.lines = taken }
        await fixture.look()
        fixture.time.skip(.seconds(1))
        await fixture.pull()
        #expect(probes() == 1)
        #expect(fixture.provider.sent == ["a", "a"])
    }

    @Test("few backlogs are pulled at the same time, and none reserves a place while the puller holds its maximum")
    func bounds() async throws {
        let apps = (0..<5).map { "app\($0)" }
        let fixture = try InMemoryFixture(apps: apps)
        let outlets = fixture.worker.outlets
        let keys = outlets.keys.map { BacklogKey($0) }
        outlets.note(keys.map { BacklogEntry(BacklogPlace($0, .normal), queuedAt: nil) })
        let backlogs = outlets.takeUnserved(at: fixture.time.steady(), among: [.normal])
        #expect(backlogs.count == apps.count)
        let (puller, pulls) = (fixture.puller, PulledDeliverySender.Context(fixture.drain))
        let letters = DrainSignal()
        // The turns of other backlogs.
        for _ in 0..<BacklogPuller.pullsAtOnce { await puller.turns.enter() }
        await pulls.run {
            pulls.detached.add(weighing: .max / 2) { await letters.wait() }
            await withDiscardingTaskGroup { group in
                for backlog in backlogs { group.addTask { await puller.attend(to: backlog, pulls) } }
                group.addTask {
                    await Self.expect("all wait for room") { pulls.detached.waiting == apps.count }
                    #expect(puller.turns.waiting == 0)
                    letters.fire()
                    await Self.expect("all wait for a turn") { puller.turns.waiting == apps.count }
                    for _ in 0..<BacklogPuller.pullsAtOnce { puller.turns.leave() }
                }
            }
        }
        #expect(fixture.backlogs.isEmpty)
    }

    private static func expect(_ what: String, _ condition: @escaping @Sendable () -> Bool) async {
        do { try await eventually(what) { condition() } } catch { Issue.record(error) }
    }

    @Test("deliveries behind an open breaker wait unchanged except for one probe, and are sent in order when it closes")
    func breaker() async throws {
        let users = (0..<6).map { "u\($0)" }
        let fixture = try Self.fixture(users)
        fixture.provider.answer([Self.refused])
        for (number, user) in users.enumerated() {
            #expect(await fixture.take([fixture.event("e\(number)", to: [user])]) == [0])
            fixture.time.skip(.milliseconds(1))
        }
        #expect(fixture.provider.sent == ["u0"])
        #expect(Self.reasons(fixture) == ["deferred breaker"])
        await fixture.pull()
        #expect(Self.versions(fixture) == Array(repeating: 2, count: 6))
        fixture.time.skip(.seconds(11))
        fixture.provider.answer([Self.refused])
        await fixture.pull()
        #expect(fixture.provider.sent == ["u0", "u0"])
        #expect(Self.versions(fixture) == [2, 2, 2, 2, 2, 4])
        fixture.time.skip(.seconds(21))
        await fixture.pull()
        #expect(fixture.provider.sent == ["u0", "u0"] + users)
        let attempts = fixture.store.state.withLock { Set($0.lines.values.map(\.attempts)) }
        #expect(attempts == [1])
        #expect(fixture.backlogs.isEmpty)
    }

    @Test("probes are of any urgency, so that one delivery that is always rejected keeps the breaker open for no other")
    func scouts() async throws {
        let fixture = try Self.fixture(["hopeless", "well"])
        fixture.provider.answer(Self.refused, of: "hopeless")
        await fixture.take([fixture.event("e1", to: ["hopeless"])])
        await fixture.take([fixture.event("e2", to: ["well"], type: "transaction_complete")])
        for _ in 0..<32 where !fixture.provider.sent.contains("well") {
            fixture.time.skip(.seconds(301))
            await fixture.pull()
        }
        #expect(fixture.provider.sent.contains("well"))
        #expect(fixture.provider.sent.filter { $0 == "hopeless" }.count > 1)
    }

    @Test("of two open breakers in a delivery's way, one is probed, and the other one's probe stays available")
    func twoBreakers() async throws {
        let fixture = try Self.fixture([])
        let outlet = try fixture.outlet
        let keys = [BreakerKey(outlet.key), BreakerKey(outlet.key, platform: .android)]
        fixture.store.state.withLock { state in
            let open = MemoryStore.Breaker(
                reason: "PERMISSION_DENIED",
                openedAt: Timestamp(clamping: 0),
                probeAt: Timestamp(clamping: 0)
            )
            state.breakers = Dictionary(uniqueKeysWithValues: keys.map { ($0, open) })
        }
        await fixture.worker.outlets.refresh()
        #expect(await outlet.admission(platform: .android) == .probe(keys[0]))
        #expect(fixture.store.state.withLock(\.probes) == 1)
        #expect(try await fixture.store.knock(keys[1]) == .mayProbe)
    }

    @Test("a pull in flight does not discard the finding of an older poll")
    func marks() throws {
        let fixture = try Self.fixture([])
        let outlet = try fixture.outlet
        let backlogs = outlet.backlogs
        let place = BacklogPlace(BacklogKey(outlet.key), .normal)
        let moments = [0, 50, 100, 120].map { Timestamp(clamping: (1_000_000 + $0) * 1_000_000) }
        backlogs.polled(moments[2], by: backlogs.poll(place), now: moments[3])
        let pull = backlogs.poll(place)
        backlogs.polled(moments[1], by: backlogs.poll(place, isWhole: true), now: moments[3])
        backlogs.pulled([moments[2], moments[3]], by: pull)
        let next = backlogs.poll(place)
        #expect(next.look.since == Timestamp(clamping: moments[1].microseconds - 5_000_000))
        backlogs.pulled([moments[1], moments[3]], by: next)
        let after = backlogs.poll(place).look.since
        #expect(after == Timestamp(clamping: moments[3].microseconds - 5_000_000))
    }

    @Test(
        "a type that this worker's catalogue lacks is retried for 15 minutes, as another worker's catalogue has it",
        arguments: [(Duration.seconds(890), "deferred unknown-type"), (.seconds(910), "suppressed unknown-type")]
    )
    func olderCatalogs(age: Duration, state: String) async throws {
        let fixture = try Self.fixture(["a"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e", to: ["a"])])
        fixture.catalogs.replace(try ServerFixture.shipped { $0 == "daily.json5" })
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(age)
        await fixture.pull()
        #expect(Self.reasons(fixture) == [state])
        #expect(fixture.provider.sent.isEmpty)
    }

    @Test("a delivery whose look-up fails alone leaves its backlog for a minute, and the others are sent")
    func damagedUser() async throws {
        let fixture = try Self.fixture(["a", "b", "c"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        for user in ["a", "b", "c"] { await fixture.take([fixture.event("e-\(user)", to: [user])]) }
        let damaged = try #require(UserID(validating: "b"))
        fixture.store.state.withLock {
            $0.unreadable = [damaged]
            $0.budget = nil
        }
        await fixture.pull()
        #expect(fixture.provider.sent == ["a", "c"])
        #expect(Self.reasons(fixture) == ["delivered -", "deferred look-up-failed"])
        #expect(fixture.backlogs.isEmpty)
    }

    @Test("a provider's requested wait is kept, and deliveries of that time are sent after one wait")
    func silence() async throws {
        let fixture = try Self.fixture(["a", "b", "c"])
        fixture.provider.answer([.retry(.quotaExceeded, notBefore: .seconds(30), scope: .provider)])
        await fixture.take([fixture.event("e1", to: ["a"])])
        await fixture.take([fixture.event("e2", to: ["b"]), fixture.event("e3", to: ["c"])])
        #expect(Self.reasons(fixture) == ["retrying QUOTA_EXCEEDED", "deferred provider-rests"])
        await fixture.pull()
        #expect(fixture.provider.sent == ["a"])
        fixture.time.skip(.seconds(31))
        await fixture.pull()
        #expect(Set(fixture.provider.sent) == ["a", "b", "c"])
        #expect(Self.versions(fixture) == [2, 4, 4])
    }

    @Test("a duplicate of an event whose delivery waits is acknowledged, and takes nothing out of its turn")
    func duplicate() async throws {
        let fixture = try Self.fixture(["a"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e", to: ["a"])])
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(.seconds(20))
        #expect(await fixture.take([fixture.event("e", to: ["a"], redelivered: true)]) == [0])
        #expect(fixture.provider.sent.isEmpty)
        #expect(Self.versions(fixture) == [2])
    }

    @Test("a drain pulls nothing more, and leaves the backlog to other workers")
    func drained() async throws {
        let fixture = try Self.fixture(["a"], budget: Self.budget)
        fixture.store.state.withLock { $0.budget = 0 }
        await fixture.take([fixture.event("e", to: ["a"])])
        fixture.store.state.withLock { $0.budget = nil }
        fixture.time.skip(.seconds(20))
        fixture.drain.fire()
        await fixture.pull()
        #expect(fixture.provider.sent.isEmpty)
        #expect(Self.reasons(fixture) == ["deferred window-full"])
    }

    @Test("settlements are written about a thousand at a time, and a digest that waits is not split")
    func parts() throws {
        let place = BacklogPlace(BacklogKey(try Answered.shipment.outlet), .low)
        let entry = BacklogEntry(place, queuedAt: Timestamp(clamping: 5))
        let recipient = try Answered.recipient("u")
        let dispositions = (0..<2_500).map { number in
            let key = NotificationKey(recipient: recipient, notification: NotificationID(bits: UInt64(number)))
            let line = DeliveryKey(notification: key, channel: .push, target: "s")
            var settlement = Settlement(line, .deferred)
            if (1_000..<1_100).contains(number) { settlement.backlog = entry }
            return Disposition(index: 0, settlement)
        }
        #expect(Settler.parts(of: dispositions).map(\.count) == [1_100, 1_024, 376])
        #expect(Settler.parts(of: []).isEmpty)
    }

    @Test("notifications of many resume messages are claimed in parts, and one user's stay together")
    func resumeParts() async throws {
        let fixture = try InMemoryFixture()
        let users = (0..<1_500).map { "u\($0)" }
        for user in users { try fixture.person(user, device: user) }
        fixture.provider.answer(Array(repeating: .retry(.unavailable, notBefore: .zero, scope: .message), count: 3_000))
        for start in [0, 750] {
            let events = (0..<2).map { fixture.event("e\($0)-\(start)", to: Array(users[start..<start + 750])) }
            await fixture.take(events)
        }
        #expect(Self.reasons(fixture) == ["retrying UNAVAILABLE"])
        let resumes = fixture.resumes()
        let sizes = fixture.store.state.withLock { $0.claimSizes.count }
        let done = await fixture.take(resumes)
        #expect(done == Array(resumes.indices))
        let claims = fixture.store.state.withLock { $0.claimSizes.dropFirst(sizes) }
        let all = claims.reduce(0, +)
        let areParts = claims.allSatisfy { $0 <= 1_024 && $0 % 2 == 0 }
        #expect(all == 3_000)
        #expect(areParts)
        #expect(Self.reasons(fixture) == ["delivered -"])
    }

    @Test("a delivery that two parts of a batch name is sent once")
    func namedTwice() async throws {
        let fixture = try Self.fixture(["a"])
        fixture.provider.answer(Array(repeating: .retry(.unavailable, notBefore: .zero, scope: .message), count: 600))
        await fixture.take((0..<600).map { fixture.event("e\($0)", to: ["a"]) })
        let resumes = fixture.resumes()
        await fixture.take(resumes + resumes)
        #expect(fixture.provider.sent.count == 1_200)
        #expect(Self.reasons(fixture) == ["delivered -"])
    }
}
