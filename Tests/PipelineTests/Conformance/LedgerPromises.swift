import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: the ledger", .limitedConcurrency, .timeLimit(.ofTest))
struct LedgerPromises {
    private static let seconds = Duration.seconds(1)

    @Test("recording claims deliveries only of new notifications", arguments: StoreKind.available)
    func opening(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (claim, other) = (Claim.fresh, Claim.fresh)
            let records = try await fixture.send(to: ["u1", "u2"], as: claim)
            _ = try await fixture.store.record(records, as: other)
            let settlements = records.map { $0.settled(.delivered) }
            #expect(try await fixture.store.settle(settlements, of: other) == 0)
            #expect(try await fixture.store.settle(settlements, of: claim) == 2)
            #expect(try await fixture.lines() == ["u1 delivered - 1 -", "u2 delivered - 1 -"])
        }
    }

    @Test("a settlement applies only to the claimer's own claim, once", arguments: StoreKind.available)
    func ownClaim(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let settlements = try await fixture.send(to: ["u1"], as: claim).map { $0.settled(.delivered) }
            var counts: [Int] = []
            for own in [.fresh, claim, claim] { counts.append(try await fixture.store.settle(settlements, of: own)) }
            #expect(counts == [0, 1, 0])
        }
    }

    @Test(
        "a live lease protects a claim, and an expired one is taken over once with an unknown outcome",
        arguments: StoreKind.available
    )
    func leases(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let first = Claim.fresh
            let records = try await fixture.send(to: ["u1"], as: first)
            let keys = records.map(\.key)
            let held = try await fixture.store.claim(keys, as: .fresh)
            #expect(held.claimed.isEmpty)
            let left = try #require(held.leased[keys[0]])
            #expect(left > .seconds(30) && left <= StoreFixture.lease)
            try await fixture.pass(StoreFixture.lease + Self.seconds)
            let taken = try await fixture.store.claim(keys, as: .fresh)
            #expect(taken.claimed.map(\.outcomeWasUnknown) == [true])
            #expect(try await fixture.store.claim(keys, as: .fresh).claimed.isEmpty)
            #expect(try await fixture.store.settle(records.map { $0.settled(.delivered) }, of: first) == 0)
        }
    }

    @Test(
        "an unknown outcome stays recorded, and every later send by any worker is a repeat",
        arguments: StoreKind.available
    )
    func unknownSends(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            var claim = Claim.fresh
            let records = try await fixture.send(to: ["u1", "u2"], as: claim)
            var lost = records[0].settled(.retrying, "connection-lost", dueIn: .zero)
            lost.outcomeIsUnknown = true
            let refused = records[1].settled(.retrying, "UNAVAILABLE", dueIn: .zero)
            _ = try await fixture.store.settle([lost, refused], of: claim)
            for _ in 0..<2 {
                claim = .fresh
                let claimed = try await fixture.store.claim(records.map(\.key), as: claim).claimed
                #expect(claimed.count == 2)
                #expect(claimed.filter(\.outcomeWasUnknown).users == ["u1"])
                let again = records.map { $0.settled(.retrying, "UNAVAILABLE", dueIn: .zero) }
                _ = try await fixture.store.settle(again, of: claim)
            }
        }
    }

    @Test(
        "a claimer whose response was lost gets its own deliveries again, counted as unsent",
        arguments: StoreKind.available
    )
    func lostAnswer(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let keys = try await fixture.send(to: ["u1"], as: claim).map(\.key)
            #expect(try await fixture.store.claim(keys, as: claim).claimed.map(\.outcomeWasUnknown) == [false])
        }
    }

    @Test("a takeover whose response was lost still repeats the send", arguments: StoreKind.available)
    func lostTakeover(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let keys = try await fixture.send(to: ["u1"], as: .fresh).map(\.key)
            try await fixture.pass(StoreFixture.lease + Self.seconds)
            let claim = Claim.fresh
            _ = try await fixture.store.claim(keys, as: claim)
            #expect(try await fixture.store.claim(keys, as: claim).claimed.map(\.outcomeWasUnknown) == [true])
        }
    }

    @Test("fifty concurrent claimers get each delivery once", arguments: StoreKind.available)
    func race(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let records = try await fixture.send(to: (0..<20).map { "u\($0)" }, as: claim)
            let retries = records.map { $0.settled(.retrying, "UNAVAILABLE", dueIn: .zero) }
            _ = try await fixture.store.settle(retries, of: claim)
            let claimed = try await withThrowingTaskGroup(of: [ClaimedDelivery].self) { group in
                for _ in 0..<50 {
                    group.addTask { try await fixture.store.claim(records.map(\.key), as: .fresh).claimed }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(claimed.count == 20)
            #expect(Set(claimed.map(\.key)).count == 20)
            #expect(claimed.allSatisfy { $0.attempts == 1 && !$0.outcomeWasUnknown })
        }
    }

    @Test("a retry is claimed when it is due, and its wait is reported until then", arguments: StoreKind.available)
    func retries(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let records = try await fixture.send(to: ["u1"], as: claim)
            let keys = records.map(\.key)
            let retry = records[0].settled(.retrying, "UNAVAILABLE", dueIn: .seconds(40))
            _ = try await fixture.store.settle([retry], of: claim)
            let early = try await fixture.store.claim(keys, as: .fresh)
            #expect(early.claimed.isEmpty)
            let left = try #require(early.retrying[keys[0]])
            #expect(left > .seconds(20) && left <= .seconds(40))
            try await fixture.pass(.seconds(40))
            #expect(try await fixture.store.claim(keys, as: .fresh).claimed.map(\.attempts) == [1])
        }
    }

    @Test(
        "a deferred delivery is claimed when it is due, and is not part of a result before",
        arguments: StoreKind.available
    )
    func deferrals(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let records = try await fixture.send(to: ["u1"], as: claim)
            let later = records[0].settled(.deferred, "quiet-hours", burnsAttempt: false, dueIn: .seconds(600))
            _ = try await fixture.store.settle([later], of: claim)
            let early = try await fixture.store.claim(records.map(\.key), as: .fresh)
            #expect(early.claimed.isEmpty && early.leased.isEmpty && early.retrying.isEmpty && early.locked.isEmpty)
            try await fixture.pass(.seconds(600))
            let due = try await fixture.store.claim(records.map(\.key), as: .fresh).claimed
            #expect(due.map(\.attempts) == [0])
        }
    }

    @Test("a delivery that is recorded as deferred is claimed at the end of its wait", arguments: StoreKind.available)
    func recordedWait(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let wait = Wait(.digest, until: try await fixture.now() + .seconds(600))
            let records = try fixture.records("e1", to: ["u1"], delivery: .deferred(to: StoreFixture.device, wait))
            _ = try await fixture.store.record(records, as: .fresh)
            #expect(try await fixture.lines() == ["u1 deferred digest 0 -"])
            #expect(try await fixture.store.claim(records.map(\.key), as: .fresh).claimed.isEmpty)
            try await fixture.pass(.seconds(601))
            let claimed = try await fixture.store.claim(records.map(\.key), as: .fresh).claimed
            let digests = try claimed.map { try #require($0.digest).microseconds / 1000 }
            #expect(digests == [wait.until.microseconds / 1000])
        }
    }

    @Test(
        "the end of a pause makes only the deliveries due that wait for it, and a shorter pause moves them",
        arguments: StoreKind.available
    )
    func endedPause(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let now = try await fixture.now()
            let (first, second) = (now + .seconds(7_200), now + .seconds(3_600))
            func pause(_ end: Timestamp?, _ second: Int) async throws {
                let said = end.map { "\"\($0)\"" } ?? "null"
                let members = #","preferences":{"pausedUntil":\#(said)}"#
                try await fixture.feed("u1", ("recipient.upserted", members), from: second)
            }
            try await pause(first, 0)
            for (id, reason) in [("e1", Wait.Reason.paused), ("e2", .quietHours)] {
                let wait = Wait(reason, until: first)
                let records = try fixture.records(
                    id,
                    to: ["u1", "u2"],
                    delivery: .deferred(to: StoreFixture.device, wait)
                )
                _ = try await fixture.store.record(records, as: .fresh)
            }
            let keys = try ["e1", "e2"].flatMap { try fixture.records($0, to: ["u1", "u2"]).map(\.key) }
            try await pause(second, 1)
            #expect(try await fixture.store.claim(keys, as: .fresh).claimed.isEmpty)
            try await fixture.pass(.seconds(3_601))
            // The clock of PostgreSQL did not move: only the deliveries of the shortened pause are due.
            #expect(try await fixture.store.claim(keys, as: .fresh).claimed.users == ["u1"])
        }
    }

    @Test("deliveries deferred for a pause that has ended meanwhile are released", arguments: StoreKind.available)
    func pauseEndedMeanwhile(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let wait = Wait(.paused, until: try await fixture.now() + .seconds(7_200))
            let records = try fixture.records("e1", to: ["u1"], delivery: .deferred(to: StoreFixture.device, wait))
            _ = try await fixture.store.record(records, as: .fresh)
            let user = [try StoreFixture.user("u1")]
            #expect(try await fixture.store.claim(records.map(\.key), as: .fresh).claimed.isEmpty)
            #expect(try await fixture.store.releasePaused(of: user) == 1)
            #expect(try await fixture.store.claim(records.map(\.key), as: .fresh).claimed.users == ["u1"])
            #expect(try await fixture.store.releasePaused(of: user) == 0)
        }
    }

    @Test("a delivery in a terminal state is never claimed again", arguments: StoreKind.available)
    func terminal(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let states: [DeliveryState] = [.delivered, .suppressed, .expired, .failed, .unknown]
            let claim = Claim.fresh
            let records = try await fixture.send(to: states.map(\.rawValue), as: claim)
            let settlements = zip(records, states).map { $0.settled($1, "reason") }
            #expect(try await fixture.store.settle(settlements, of: claim) == states.count)
            try await fixture.pass(.seconds(3_600))
            let harvest = try await fixture.store.claim(records.map(\.key), as: .fresh)
            #expect(harvest.claimed.isEmpty && harvest.leased.isEmpty && harvest.retrying.isEmpty)
        }
    }

    @Test("only settlements that use an attempt are counted", arguments: StoreKind.available)
    func attempts(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            var claim = Claim.fresh
            let records = try await fixture.send(to: ["u1"], as: claim)
            for (burns, attempts) in [(true, 1), (false, 1), (true, 2)] {
                let retry = records[0].settled(.retrying, "UNAVAILABLE", burnsAttempt: burns, dueIn: .zero)
                _ = try await fixture.store.settle([retry], of: claim)
                claim = .fresh
                let claimed = try await fixture.store.claim(records.map(\.key), as: claim).claimed
                #expect(claimed.map(\.attempts) == [attempts])
            }
        }
    }

    @Test(
        "a retry that is left to the sweeper keeps its time, and another's claim keeps its lease",
        arguments: StoreKind.available
    )
    func leaving(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let records = try await fixture.send(to: ["u1", "u2"], as: claim)
            let retry = records[0].settled(.retrying, "UNAVAILABLE", dueIn: .seconds(40))
            _ = try await fixture.store.settle([retry], of: claim)
            #expect(try await fixture.store.leaveToSweeper(records.map(\.key)).isEmpty)
            #expect(try await fixture.lines() == ["u1 deferred UNAVAILABLE 1 -", "u2 sending - 0 -"])
            #expect(try await fixture.store.claim(records.map(\.key), as: .fresh).claimed.isEmpty)
            try await fixture.pass(.seconds(62))
            let claimed = try await fixture.store.claim(records.map(\.key), as: .fresh).claimed
            #expect(claimed.users.sorted() == ["u1", "u2"])
        }
    }

    @Test("a settlement of an unknown delivery counts nothing", arguments: StoreKind.available)
    func unknownLine(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let claim = Claim.fresh
            let records = try await fixture.send(to: ["u1"], as: claim)
            let unknown = try fixture.records("e2", to: ["u1", "u2"])
            let settlements = (records + unknown).map { $0.settled(.delivered) }
            #expect(try await fixture.store.settle(settlements, of: claim) == 1)
            #expect(try await fixture.store.settle([], of: claim) == 0)
        }
    }
}
