import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: backlogs", .limitedConcurrency, .timeLimit(.ofTest))
struct BacklogPromises {
    private static func pull(
        _ count: Int,
        _ fixture: StoreFixture,
        _ priority: Priority = .normal,
        of users: UserFilter = .everyone
    ) async throws -> [ClaimedDelivery] {
        let pulled = try await fixture.store.pull(try .fcm(priority), atMost: count, as: .fresh, of: users)
        return try #require(pulled.lines)
    }

    @Test(
        "deliveries are pulled in the order of their turns, once each, and are then claimed",
        arguments: StoreKind.available
    )
    func order(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["b", "c", "a"], at: try .fcm())
            #expect(try await fixture.lines().first == "a deferred window-full 0 drop/fcm")
            let first = try await Self.pull(2, fixture)
            #expect(first.users == ["b", "c"])
            #expect(first.compactMap(\.queuedAt).count == 2)
            #expect(try await Self.pull(2, fixture).users == ["a"])
            #expect(try await Self.pull(2, fixture).isEmpty)
            #expect(try await fixture.lines().first == "a sending window-full 0 -")
        }
    }

    @Test(
        "a pull's claim ends with its lease, and its own settlements count until then",
        arguments: StoreKind.available
    )
    func leases(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["a", "b"], at: try .fcm())
            let claim = Claim.fresh
            let poll = try BacklogPoll.fcm()
            let pulled = try await fixture.store.pull(poll, atMost: 2, as: claim, of: .everyone).lines ?? []
            let delivered = pulled.prefix(1).map { Settlement($0.key, .delivered) }
            #expect(try await fixture.store.settle(delivered, of: claim) == 1)
            let keys = pulled.map(\.key.notification)
            #expect(try await fixture.store.claim(keys, as: .fresh).leased.count == 1)
            try await fixture.pass(StoreFixture.lease + .seconds(1))
            let taken = try await fixture.store.claim(keys, as: .fresh).claimed
            #expect(taken.users == ["b"] && taken.allSatisfy(\.outcomeWasUnknown))
        }
    }

    @Test("a delivery takes its turn from its recording, or from the given turn", arguments: StoreKind.available)
    func turns(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let before = try await fixture.now()
            let records = try await fixture.send(to: ["u1", "u2"], as: claim)
            try await fixture.pass(.seconds(30))
            let turn = before - .seconds(3_600)
            let settlements = [
                records[0].waiting(at: try .fcm(), .windowFull),
                records[1].waiting(at: try .fcm(), .windowFull, queuedAt: turn),
            ]
            #expect(try await fixture.store.settle(settlements, of: claim) == 2)
            let now = try await fixture.now()
            let pulled = try await Self.pull(10, fixture)
            #expect(pulled.users == ["u2", "u1"])
            #expect(pulled.first?.queuedAt == turn)
            let age = now.microseconds - (try #require(pulled.last?.queuedAt).microseconds)
            #expect((30_000_000...60_000_000).contains(age))
        }
    }

    @Test("a resume or a duplicate finds no delivery that waits in a backlog", arguments: StoreKind.available)
    func leftAlone(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["u1"], at: try .fcm())
            let keys = try fixture.records("e-u1", to: ["u1"]).map(\.key)
            try await fixture.pass(.seconds(3_600))
            let harvest = try await fixture.store.claim(keys, as: .fresh)
            #expect(harvest.claimed.isEmpty)
            #expect(harvest.leased.isEmpty && harvest.retrying.isEmpty && harvest.locked.isEmpty)
            _ = try await fixture.store.leaveToSweeper(keys)
            #expect(try await fixture.lines() == ["u1 deferred window-full 0 drop/fcm"])
        }
    }

    @Test("the priority of the place counts, not that of the notification", arguments: StoreKind.available)
    func priorities(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["normal"], at: try .fcm())
            try await fixture.wait(["urgent"], at: try .fcm(.high))
            #expect(try await Self.pull(10, fixture, .low).isEmpty)
            #expect(try await Self.pull(10, fixture, .high).users == ["urgent"])
            #expect(try await Self.pull(10, fixture).users == ["normal"])
        }
    }

    @Test("backlogs of an outlet, of a platform and of a type are separate", arguments: StoreKind.available)
    func places(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let names = ["drop/apns", "drop/fcm", "drop/fcm/ios", "drop/fcm//system"]
            for (number, name) in names.enumerated() {
                let key = try #require(BacklogKey(name))
                try await fixture.wait(["u\(number)"], at: BacklogPlace(key, .normal))
            }
            #expect(try await fixture.store.backlogNames() == names.sorted())
            #expect(try await Self.pull(10, fixture).users == ["u1"])
        }
    }

    @Test("the deliveries of a pull are found again under its claim, and no others", arguments: StoreKind.available)
    func regaining(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["a", "b", "c"], at: try .fcm())
            let poll = try BacklogPoll.fcm()
            let claim = Claim.fresh
            _ = try await fixture.store.pull(poll, atMost: 2, as: claim, of: .everyone)
            _ = try await fixture.store.pull(poll, atMost: 2, as: .fresh, of: .everyone)
            let again = try await fixture.store.regain(poll.place.key, as: claim).lines ?? []
            #expect(again.users.sorted() == ["a", "b"])
            #expect(again.allSatisfy { !$0.outcomeWasUnknown && !$0.wasHeld })
            #expect(try await fixture.store.regain(poll.place.key, as: .fresh).lines?.isEmpty == true)
        }
    }

    @Test(
        "a digest's deliveries are pulled together, despite the limit and their priorities",
        arguments: StoreKind.available
    )
    func digests(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["first"], at: try .fcm())
            let turn = try await fixture.now()
            let wait = Wait(.digest, until: turn + .seconds(-1))
            var claim = Claim.fresh
            var records: [InboxRecord] = []
            for event in ["e1", "e2", "e3"] { records += try await fixture.send(event, to: ["u1"], as: claim) }
            let deferred = records.map { record in
                var settlement = record.settled(.deferred, "digest", burnsAttempt: false, dueIn: .zero)
                settlement.wait = wait
                return settlement
            }
            _ = try await fixture.store.settle(deferred, of: claim)
            claim = .fresh
            #expect(try await fixture.store.claim(records.map(\.key), as: claim).claimed.count == 3)
            let waiting = try zip(records, [Priority.normal, .low, .normal]).map { record, priority in
                record.waiting(at: try .fcm(priority), .windowFull, queuedAt: turn)
            }
            #expect(try await fixture.store.settle(waiting, of: claim) == 3)
            try await fixture.pass(.seconds(1))
            try await fixture.wait(["last"], at: try .fcm())
            let pulled = try await Self.pull(2, fixture)
            #expect(pulled.users == ["first", "u1", "u1", "u1"])
            #expect(pulled.compactMap(\.digest).count == 3)
            #expect(try await Self.pull(2, fixture).users == ["last"])
        }
    }

    @Test(
        "the oldest turn of each place is returned, from a turn or from the beginning",
        arguments: StoreKind.available
    )
    func heads(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["old"], at: try .fcm())
            try await fixture.pass(.seconds(3_540))
            let middle = try await fixture.now() - .seconds(600)
            try await fixture.wait(["new"], at: try .fcm())
            try await fixture.pass(.seconds(60))
            let heads = try await fixture.store.heads([
                try .fcm(), BacklogPoll(try .fcm(), since: middle), try .fcm(.high),
                BacklogPoll(BacklogPlace(try #require(BacklogKey("drop/fcm/ios")), .normal), since: nil),
            ])
            #expect(heads.oldest.map { $0 == nil } == [false, false, true, true])
            let ages = heads.oldest.compactMap { $0 }.map { (heads.now.microseconds - $0.microseconds) / 60_000_000 }
            #expect(ages == [60, 1])
        }
    }

    @Test(
        "the users at the head of a backlog are named, and a pull leaves out or takes only named ones",
        arguments: StoreKind.available
    )
    func filters(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["a", "b", "c"], at: try .fcm())
            let head = try await fixture.store.head(try .fcm(), atMost: 2, of: .everyone)
            #expect(head.users.count == 2)
            let first = try #require(head.users.first)
            let others = try await fixture.store.head(try .fcm(), atMost: 2, of: .all(except: [first]))
            #expect(others.users.count == 2 && others.users.first == head.users.last)
            #expect(try await Self.pull(1, fixture, of: .all(except: [first])).users == ["b"])
            #expect(try await Self.pull(9, fixture, of: .only([first], until: head.until)).users == ["a"])
            #expect(try await Self.pull(9, fixture).users == ["c"])
        }
    }

    @Test("a probe is one delivery, to a reached device if there is one", arguments: StoreKind.available)
    func scout(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            var records: [InboxRecord] = []
            let claim = Claim.fresh
            for user in ["a", "b", "c"] {
                let device = try await fixture.register(user, token: "t-\(user)")
                let own = try fixture.records("e-\(user)", to: [user], delivery: .sending(to: device.subscription))
                _ = try await fixture.store.record(own, as: claim)
                records += own
                guard user == "b" else { continue }
                let key = try StoreFixture.user(user)
                let reached = ReachedDevice(recipient: key, device: device)
                #expect(try await fixture.store.note([reached]) == 1)
            }
            let settlements = try records.map { record in
                let line = DeliveryKey(
                    notification: record.key,
                    channel: .push,
                    target: record.deliveries[0].target
                )
                var settlement = Settlement(line, .deferred, reason: "breaker", burnsAttempt: false)
                settlement.backlog = BacklogEntry(try .fcm(), queuedAt: nil)
                return settlement
            }
            #expect(try await fixture.store.settle(settlements, of: claim) == 3)
            let probe = try await fixture.store.scout(try .fcm(), as: .fresh, of: .everyone)
            #expect(probe.lines?.users == ["b"])
        }
    }

    @Test("a delivery that an operator holds is pulled with that mark", arguments: StoreKind.available)
    func held(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["held"], at: try .fcm(), reason: .held)
            try await fixture.wait(["other"], at: try .fcm())
            #expect(try await Self.pull(2, fixture).map(\.wasHeld) == [true, false])
        }
    }

    @Test(
        "a delivery that has waited for long in a backlog is released, and a recent one is not",
        arguments: StoreKind.available
    )
    func release(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.wait(["old"], at: try .fcm())
            try await fixture.pass(.seconds(700))
            try await fixture.wait(["new"], at: try .fcm())
            #expect(try await fixture.store.release("drop/apns", atMost: 10, after: .seconds(600)) == 0)
            #expect(try await fixture.store.release("drop/fcm", atMost: 10, after: .seconds(600)) == 1)
            let keys = try ["old", "new"].flatMap { try fixture.records("e-\($0)", to: [$0]).map(\.key) }
            #expect(try await fixture.store.claim(keys, as: .fresh).claimed.users == ["old"])
            #expect(try await Self.pull(9, fixture).users == ["new"])
        }
    }
}
