import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Ledger",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct LedgerTests {
    @Test("the rows of a settled batch stay on their pages, so that no index changes")
    func onItsPages() async throws {
        try await ServerFixture.withSchema { servers in
            let claim = Claim.fresh
            let records = try servers.sending(id: "e1", users: (0..<256).map { "u\($0)" })
            _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
            let pages = "SELECT concat_ws(' ', person, split_part(ctid::text, ',', 1)) FROM ledger ORDER BY person"
            let claimed = try await servers.column(pages)
            let settlements = records.map {
                Settlement($0.line, .delivered, providerMessageID: "projects/bellhop-test/messages/1")
            }
            let count = try await WorkerStore(pool: servers.pool, lease: .seconds(60)).settle(settlements, of: claim)
            #expect(count == 256)
            let blocks = Set(claimed.map { ($0 ?? "").split(separator: " ").last })
            #expect(blocks.count > 2)
            #expect(try await servers.column(pages) == claimed)
        }
    }

    @Test("a delivered row keeps the provider's id of the message and has no due time")
    func delivered() async throws {
        try await ServerFixture.withSchema { servers in
            let claim = Claim.fresh
            let ledger = WorkerStore(pool: servers.pool, lease: .seconds(60))
            let records = try servers.sending(id: "e1", users: ["u1"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
            let settlement = Settlement(records[0].line, .delivered, providerMessageID: "m1")
            let own = try await ledger.settle([settlement], of: claim)
            #expect(own == 1)
            let line = try await servers.column(
                "SELECT concat_ws('|', state, attempts, provider_message_id, due_at IS NULL) FROM deliveries"
            )
            #expect(line == ["delivered|1|m1|t"])
        }
    }

    @Test("a takeover whose response was lost still repeats the send and is counted once")
    func lostTakeover() async throws {
        try await ServerFixture.withSchema { servers in
            let ledger = WorkerStore(pool: servers.pool, lease: .zero)
            let records = try servers.sending(id: "e1", users: ["u1"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            let claim = Claim.fresh
            _ = try await ledger.claim(records.map(\.key), as: claim)
            let again = try await ledger.claim(records.map(\.key), as: claim)
            #expect(again.claimed.map(\.outcomeWasUnknown) == [true])
            #expect(try await servers.column("SELECT unknown_sends::text FROM deliveries") == ["1"])
        }
    }

    @Test("due and stranded deliveries are released, each once in ten minutes")
    func handingOver() async throws {
        try await ServerFixture.withSchema { servers in
            let claim = Claim.fresh
            let ledger = WorkerStore(pool: servers.pool, lease: .seconds(600))
            let records = try servers.sending(id: "e1", users: ["due", "stranded", "waiting"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
            _ = try await ledger.settle(
                [
                    Settlement(records[0].line, .deferred, reason: "breaker", dueIn: .zero),
                    Settlement(records[1].line, .retrying, reason: "UNAVAILABLE", dueIn: .zero),
                    Settlement(records[2].line, .deferred, reason: "breaker", dueIn: .seconds(600)),
                ],
                of: claim
            )
            let due = try await DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(600)).take(
                .low,
                atMost: 10
            )
            let stranded = try await DueDeliveryStore(pool: servers.pool, strandedAfter: .zero).take(.low, atMost: 10)
            let nothing = try await DueDeliveryStore(pool: servers.pool, strandedAfter: .zero).take(.low, atMost: 10)
            #expect(due.map(\.recipient.user.text) == ["due"])
            #expect(stranded.map(\.recipient.user.text) == ["stranded"])
            #expect(nothing.isEmpty)
            let harvest = try await ledger.claim(records.map(\.key), as: .fresh)
            #expect(Set(harvest.claimed.map(\.key.notification.recipient.user.text)) == ["due", "stranded"])
        }
    }

    @Test("a first attempt without a settlement is found by the walk and released like a stranded one")
    func forgottenClaims() async throws {
        try await ServerFixture.withSchema { servers in
            let records = try servers.sending(id: "e1", users: ["u1", "u2"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            try await servers.pass("7 min", since: "updated_at", in: "deliveries", where: "user_id = 'u1'")
            let due = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
            let before = try await due.take(.low, atMost: 10)
            let patient = try await ForgottenClaimStore(pool: servers.pool, olderThan: .seconds(600)).look(
                from: 0,
                pages: 8
            )
            let found = try await ForgottenClaimStore(pool: servers.pool, olderThan: .seconds(360)).look(
                from: 0,
                pages: 8
            )
            let again = try await ForgottenClaimStore(pool: servers.pool, olderThan: .seconds(360)).look(
                from: 0,
                pages: 8
            )
            #expect([patient.found, found.found, again.found] == [0, 1, 0])
            #expect(found.next == nil)
            let after = try await due.take(.low, atMost: 10)
            #expect(before.isEmpty)
            #expect(after.map(\.recipient.user.text) == ["u1"])
            let store = WorkerStore(pool: servers.pool, lease: .seconds(60))
            let harvest = try await store.claim(records.map(\.key), as: .fresh)
            let taken = harvest.claimed.map { "\($0.key.notification.recipient.user.text) \($0.outcomeWasUnknown)" }
            #expect(taken == ["u1 true"])
        }
    }

    @Test("a dead worker's first attempt is found as soon as its lease has ended, and released at the next poll")
    func forgottenClaimsOfTheDead() async throws {
        try await ServerFixture.withSchema { servers in
            var chance = SystemRandomNumberGenerator()
            for (number, user) in [(3, "dead"), (4, "alive"), (3, "young")] {
                let claim = Claim(of: Claimant(number: Int64(number)), using: &chance)
                let record = try servers.sending(id: "e1", users: [user])
                _ = try await WorkerStore(pool: servers.pool).record(record, as: claim)
            }
            try await servers.pass("70 s", since: "updated_at", in: "deliveries", where: "user_id <> 'young'")
            let claims = ForgottenClaimStore(pool: servers.pool, olderThan: .seconds(360), lease: .seconds(60))
            let none = try await claims.look(from: 0, pages: 8)
            let found = try await claims.look(from: 0, pages: 8, claimedBy: [3, 5])
            let again = try await claims.look(from: 0, pages: 8, claimedBy: [3, 5])
            #expect([none.found, found.found, again.found] == [0, 1, 0])
            let due = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
            let unknown = try await due.take(.low, atMost: 10, within: .seconds(5))
            let taken = try await due.take(.low, atMost: 10, within: .seconds(60), claimedBy: [3, 5])
            #expect(unknown.isEmpty)
            #expect(taken.map(\.recipient.user.text) == ["dead"])
        }
    }

    @Test("the walk continues where it stopped and ends after the last page")
    func walking() async throws {
        try await ServerFixture.withSchema { servers in
            let records = try (0..<10).flatMap { try servers.sending(id: "e\($0)", users: (0..<100).map { "u\($0)" }) }
            _ = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            let claims = ForgottenClaimStore(pool: servers.pool, olderThan: .zero)
            var (page, steps, found): (Int64?, Int, Int) = (0, 0, 0)
            while let start = page, steps < 1000 {
                let step = try await claims.look(from: start, pages: 2)
                page = step.next
                found += step.found
                steps += 1
            }
            #expect(found == 1000)
            #expect(steps > 2 && steps < 1000)
        }
    }

    @Test("a delivery that another session has locked is reported, and the others of the batch are claimed")
    func lockedLines() async throws {
        try await ServerFixture.withSchema { servers in
            let ledger = WorkerStore(pool: servers.pool, lease: .seconds(600))
            let claim = Claim.fresh
            let records = try servers.sending(id: "e1", users: ["u1", "u2", "u3"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
            _ = try await ledger.settle(
                records.map { record in
                    let wait: Duration = record.user.text == "u3" ? .seconds(40) : .zero
                    return Settlement(record.line, .retrying, reason: "UNAVAILABLE", dueIn: wait)
                },
                of: claim
            )
            let keys = records.map(\.key)
            let harvest = try await RowLock.hold(
                on: servers,
                "SELECT FROM ledger WHERE person = (SELECT number FROM people WHERE user_id = 'u1') FOR UPDATE"
            ) {
                try await ledger.claim(keys, as: .fresh)
            }
            #expect(harvest.locked == [records[0].key])
            #expect(harvest.claimed.map(\.key.notification) == [records[1].key])
            #expect(Array(harvest.retrying.keys) == [records[2].key])
            let later = try await ledger.claim(keys, as: .fresh)
            #expect(later.locked.isEmpty)
            #expect(later.claimed.map(\.key.notification) == [records[0].key])
        }
    }

    @Test("a release takes at most the given number of due deliveries, user by user, and each user's together")
    func boundedTurns() async throws {
        try await ServerFixture.withSchema { servers in
            let claim = Claim.fresh
            let ledger = WorkerStore(pool: servers.pool, lease: .seconds(600))
            // Each user's deliveries are far apart, so that the oldest ones belong to many users.
            let records = try (0..<6).flatMap { try servers.sending(id: "e\($0)", users: (0..<10).map { "u\($0)" }) }
            _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
            _ = try await ledger.settle(
                records.map { Settlement($0.line, .deferred, reason: "digest", dueIn: .zero) },
                of: claim
            )
            let due = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(600))
            let urgent = try await due.take(.high, atMost: 20)
            #expect(urgent.isEmpty)
            var turns: [[Int]] = []
            while turns.count < 20 {
                let groups = try await due.take(.low, atMost: 20)
                guard !groups.isEmpty else { break }
                turns.append(groups.map(\.notifications.count))
            }
            #expect(turns == [[6, 6, 6], [6, 6, 6], [6, 6, 6], [6]])
        }
    }
}

extension Claim {
    static var fresh: Claim {
        var chance = SystemRandomNumberGenerator()
        return Claim(using: &chance)
    }
}

extension InboxRecord {
    fileprivate var user: UserID { key.recipient.user }
    var line: DeliveryKey { DeliveryKey(notification: key, channel: .push, target: "sub_0000000000000001") }

    func with(_ deliveries: [NewDelivery]) -> InboxRecord {
        InboxRecord(self, of: key.recipient, deliveries: deliveries)
    }
}

extension ServerFixture {
    /// Returns records that go out to one device each.
    func sending(id: String, users: [String]) throws -> [InboxRecord] {
        try records(id: id, users: users, title: "Hei").map { $0.with([.sending(to: "sub_0000000000000001")]) }
    }
}
