import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Claims of dead processes",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct StrandedClaimTests {
    private static let lease = Duration.seconds(60)
    private static let dead = Claimant(number: 5)

    private static func claim(of claimant: Claimant) -> Claim {
        var chance = SystemRandomNumberGenerator()
        return Claim(of: claimant, using: &chance)
    }

    /// Records a push for each user under a claim and lets each fail, so that it can be claimed again.
    private static func retried(
        _ users: [String],
        _ servers: ServerFixture,
        id: String = "e1"
    ) async throws -> [NotificationKey] {
        let claim = Claim.fresh
        let records = try servers.sending(id: id, users: users)
        _ = try await WorkerStore(pool: servers.pool).record(records, as: claim)
        let settlements = records.map { Settlement($0.line, .retrying, reason: "UNAVAILABLE", dueIn: .zero) }
        _ = try await WorkerStore(pool: servers.pool, lease: lease).settle(settlements, of: claim)
        return records.map(\.key)
    }

    private static func users(_ groups: some Sequence<DueGroup>) -> [String] {
        groups.map(\.recipient.user.text).sorted()
    }

    /// Moves all claims `seconds` into the past.
    private static func age(_ seconds: Int, _ servers: ServerFixture) async throws {
        _ = try await servers.owner.run(
            """
            UPDATE ledger SET updated_at = updated_at - $1::bigint * interval '1 s',
                due_at = due_at - $1::bigint * interval '1 s'
            """,
            [.integer(Int64(seconds))]
        )
    }

    @Test("a dead process's claim is released when its lease ends, and a live one's six minutes later")
    func lease() async throws {
        try await ServerFixture.withSchema { servers in
            let keys = try await Self.retried(["dead", "living"], servers)
            let ledger = WorkerStore(pool: servers.pool, lease: Self.lease)
            _ = try await ledger.claim([keys[0]], as: Self.claim(of: Self.dead))
            _ = try await ledger.claim([keys[1]], as: Self.claim(of: Claimant(number: 6)))
            let book = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
            let dead = [Self.dead.number]
            let during = try await book.take(.low, atMost: 10, claimedBy: dead)
            #expect(during.isEmpty)
            try await Self.age(63, servers)
            let unknown = try await book.take(.low, atMost: 10)
            #expect(unknown.isEmpty)
            let known = try await book.take(.low, atMost: 10, within: .seconds(5), claimedBy: dead)
            #expect(Self.users(known) == ["dead"])
            // It is still a claim: the worker that takes it over counts a send whose outcome is unknown.
            let taken = try await ledger.claim(keys, as: .fresh)
            #expect(taken.claimed.map(\.outcomeWasUnknown) == [true, true])
        }
    }

    @Test("a live process's claim is released only after the usual delay")
    func grace() async throws {
        try await ServerFixture.withSchema { servers in
            let keys = try await Self.retried(["living"], servers)
            let ledger = WorkerStore(pool: servers.pool, lease: Self.lease)
            _ = try await ledger.claim(keys, as: Self.claim(of: Claimant(number: 6)))
            let book = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
            try await Self.age(410, servers)
            let early = try await book.take(.low, atMost: 10, claimedBy: [Self.dead.number])
            #expect(early.isEmpty)
            try await Self.age(15, servers)
            let late = try await book.take(.low, atMost: 10, claimedBy: [Self.dead.number])
            #expect(Self.users(late) == ["living"])
        }
    }

    @Test("the sweeper finds a first attempt as soon as its message meets the lease")
    func firstAttempt() async throws {
        try await ServerFixture.withSchema { servers in
            let records = try servers.sending(id: "e1", users: ["u1"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: Self.claim(of: Self.dead))
            let ledger = WorkerStore(pool: servers.pool, lease: Self.lease)
            let harvest = try await ledger.claim(records.map(\.key), as: .fresh)
            #expect(harvest.claimed.isEmpty)
            #expect(harvest.leased.count == 1)
            let due = try await servers.column("SELECT (due_at - updated_at)::text FROM ledger")
            #expect(due == ["00:01:02"])
            let book = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
            let early = try await book.take(.low, atMost: 10, claimedBy: [Self.dead.number])
            try await Self.age(63, servers)
            let due63 = try await book.take(.low, atMost: 10, claimedBy: [Self.dead.number])
            #expect(early.isEmpty)
            #expect(Self.users(due63) == ["u1"])
        }
    }

    @Test("deliveries that no resume brings back are left to the sweeper, and a locked first attempt is named")
    func leaving() async throws {
        try await ServerFixture.withSchema { servers in
            let keys = try await Self.retried(["retried"], servers)
            let records = try servers.sending(id: "e2", users: ["first", "locked"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: Self.claim(of: Self.dead))
            let ledger = WorkerStore(pool: servers.pool, lease: Self.lease)
            let all = keys + records.map(\.key)
            let left = try await RowLock.hold(
                on: servers,
                "SELECT FROM ledger WHERE person = (SELECT number FROM people WHERE user_id = 'locked') FOR UPDATE"
            ) {
                try await ledger.leaveToSweeper(all)
            }
            #expect(left == [records[1].key])
            let none = try await ledger.leaveToSweeper(all)
            #expect(none.isEmpty)
            let book = DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
            let due = try await book.take(.low, atMost: 10)
            #expect(Self.users(due) == ["retried"])
            try await Self.age(63, servers)
            let others = try await book.take(.low, atMost: 10, claimedBy: [Self.dead.number])
            #expect(Self.users(others) == ["first", "locked"])
        }
    }

    @Test("a release whose response was lost can be repeated and returns only its own deliveries")
    func lostTake() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await Self.retried(["u1", "u2"], servers)
            let book = DueDeliveryStore(pool: servers.pool, strandedAfter: .zero)
            _ = try await book.take(.low, atMost: 10)
            // The first release was 30 seconds ago.
            try await Self.age(30, servers)
            _ = try await Self.retried(["u3"], servers, id: "e3")
            let begin = ContinuousClock.now
            let taken = try await book.take(.low, atMost: 10)
            let lost = LostTake(priority: .low, begin: begin, end: .now)
            let again = try await book.takeAgain(lost) { .now }
            #expect(Self.users(taken) == ["u3"])
            #expect(Self.users(again) == ["u3"])
            #expect(again.map(\.priority) == [.low])
            let nothing = try await book.takeAgain(lost) { .now + .seconds(3) }
            #expect(nothing.isEmpty)
        }
    }
}
