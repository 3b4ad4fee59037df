import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Claimants",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ClaimantBookTests {
    @Test("a claimant's lock is held while its session lives, and its heartbeats are counted")
    func liveness() async throws {
        try await ServerFixture.withSchema { servers in
            let book = ClaimantBook(pool: servers.pool)
            let number = try await book.enrol()
            let before = try await book.sightings()
            #expect(before.map(\.number) == [number])
            #expect(before.map(\.isUnlocked) == [true])
            var session = ListenerOptions(url: try DatabaseURL(try #require(Servers.databaseURL)), channels: [])
            session.setUp = servers.namespace.setUp(as: .worker) + [ClaimantBook.lock(number)]
            let listener = NotificationListener(session)
            try await eventually("it is locked") { try await book.sightings().map(\.isUnlocked) == [false] }
            try await book.beat(number, 4)
            #expect(try await book.sightings().map(\.beats) == [4])
            listener.close()
            try await eventually("it is free") { try await book.sightings().map(\.isUnlocked) == [true] }
        }
    }

    @Test("a heartbeat restores a lost row, and dead claimants are deleted")
    func rows() async throws {
        try await ServerFixture.withSchema { servers in
            let book = ClaimantBook(pool: servers.pool)
            let number = try await book.enrol()
            try await book.forget([number])
            #expect(try await book.sightings().isEmpty)
            try await book.beat(number, 2)
            #expect(try await book.sightings(knowing: [number]).map(\.number) == [number])
            let next = try await book.enrol()
            #expect(next > number)
        }
    }

    @Test("a claim contains its claimant's number and stays positive")
    func claims() {
        var chance = SystemRandomNumberGenerator()
        for number in [1, 77, 0x7f_ffff, 0x80_0001] as [Int64] {
            let claimant = Claimant(number: number)
            let claim = Claim(of: claimant, using: &chance)
            #expect(claim.number > 0)
            #expect(claim.number >> 40 == claimant.number)
        }
    }
}
