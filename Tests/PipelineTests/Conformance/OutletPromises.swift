import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: breakers, budgets and holds", .limitedConcurrency, .timeLimit(.ofTest))
struct OutletPromises {
    private static func key(_ platform: DevicePlatform? = nil) throws -> BreakerKey {
        BreakerKey(app: try #require(AppID(validating: "drop")), provider: "fcm", platform: platform)
    }

    @Test(
        "an open breaker is stored with its reason and its platform, opens once, and is closed once",
        arguments: StoreKind.available
    )
    func opening(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (all, ios) = (try Self.key(), try Self.key(.ios))
            try await fixture.store.open(all, reason: "PERMISSION_DENIED")
            try await fixture.store.open(all, reason: "token-refused")
            try await fixture.store.open(ios, reason: "THIRD_PARTY_AUTH_ERROR")
            let open = try await fixture.store.openBreakers()
            #expect(open.map(\.key) == [all, ios])
            #expect(open.map(\.reason) == ["PERMISSION_DENIED", "THIRD_PARTY_AUTH_ERROR"])
            #expect(open.allSatisfy { $0.failures == 0 && $0.probeIn > .seconds(5) && $0.probeIn <= .seconds(10) })
            #expect(try await fixture.store.close(all))
            #expect(try await !fixture.store.close(all))
            #expect(try await fixture.store.openBreakers().map(\.key) == [ios])
        }
    }

    @Test(
        "a probe is granted when it is due, to one of many workers, and again if its outcome is not reported",
        arguments: StoreKind.available
    )
    func probes(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let key = try Self.key()
            try await fixture.store.open(key, reason: "certificate")
            #expect(try await fixture.store.knock(key) != .mayProbe)
            try await fixture.pass(.seconds(10))
            let answers = try await withThrowingTaskGroup(of: ProbeClaim.self) { group in
                for _ in 0..<12 { group.addTask { try await fixture.store.knock(key) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.filter { $0 == .mayProbe }.count == 1)
            #expect(answers.filter { $0 == .isClosed }.isEmpty)
            try await fixture.pass(.seconds(31))
            #expect(try await fixture.store.knock(key) == .mayProbe)
        }
    }

    @Test("a returned probe goes to the next worker that requests one", arguments: StoreKind.available)
    func givenBack(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let key = try Self.key()
            try await fixture.store.open(key, reason: "certificate")
            try await fixture.pass(.seconds(10))
            #expect(try await fixture.store.knock(key) == .mayProbe)
            #expect(try await fixture.store.knock(key) != .mayProbe)
            try await fixture.store.giveBackProbe(of: key)
            #expect(try await fixture.store.knock(key) == .mayProbe)
        }
    }

    @Test(
        "each conclusive rejection doubles the pause, up to five minutes, and any other has the first pause",
        arguments: StoreKind.available
    )
    func pauses(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let key = try Self.key()
            try await fixture.store.open(key, reason: "certificate")
            for expected in [20, 40, 80, 160, 300, 300] {
                try await fixture.store.reopen(key, reason: "certificate", isTelling: true)
                let wait = try #require(try await fixture.store.openBreakers().first).probeIn
                #expect(wait > .seconds(expected - 5) && wait <= .seconds(expected))
            }
            try await fixture.store.reopen(key, reason: "mass-death", isTelling: false)
            let last = try #require(try await fixture.store.openBreakers().first)
            #expect(last.probeIn <= .seconds(10) && last.failures == 7)
        }
    }

    @Test(
        "a closed breaker grants no probe, and a rejected probe does not open it again",
        arguments: StoreKind.available
    )
    func closed(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let key = try Self.key()
            #expect(try await fixture.store.knock(key) == .isClosed)
            try await fixture.store.reopen(key, reason: "certificate", isTelling: true)
            #expect(try await fixture.store.openBreakers().isEmpty)
            #expect(try await fixture.store.deathsSince(key) == nil)
        }
    }

    @Test(
        "a mass failure is doubted from ten minutes before it, although the breaker was opened for another reason",
        arguments: StoreKind.available
    )
    func doubt(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let key = try Self.key()
            try await fixture.store.open(key, reason: "certificate")
            #expect(try await fixture.store.deathsSince(key) == nil)
            let now = try await fixture.now()
            try await fixture.store.open(key, reason: OpenBreaker.massDeath)
            let since = try #require(try await fixture.store.deathsSince(key))
            let ago = (now.microseconds - since.microseconds) / 1_000_000
            #expect((590...600).contains(ago))
            try await fixture.store.reopen(key, reason: "certificate", isTelling: true)
            #expect(try await fixture.store.deathsSince(key) == since)
        }
    }

    @Test(
        "workers draw from one bucket, which keeps a reserve and refills at its rate up to its size",
        arguments: StoreKind.available
    )
    func budgets(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            func draw(_ wanted: Int, reserve: Int = 0) async throws -> Int {
                try await fixture.store.draw(
                    BudgetRequest(
                        name: "expo/a",
                        capacity: 1_000,
                        refillPerSecond: 0.01,
                        wanted: wanted,
                        reserve: reserve
                    )
                )
            }
            #expect(try await draw(600, reserve: 100) == 600)
            #expect(try await draw(600, reserve: 100) == 300)
            #expect(try await draw(1, reserve: 100) == 0)
            #expect(try await draw(600) == 100)
            #expect(try await draw(1) == 0)
            try await fixture.pass(.seconds(1_000))
            #expect(try await draw(600) == 10)
            try await fixture.pass(.seconds(86_400 * 30))
            #expect(try await draw(5_000) == 1_000)
        }
    }

    @Test("buckets of different names are separate", arguments: StoreKind.available)
    func separateBudgets(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["expo/a", "expo/b"] {
                let request = BudgetRequest(name: name, capacity: 5, refillPerSecond: 0.001, wanted: 9, reserve: 0)
                let drawn = try await fixture.store.draw(request)
                #expect(drawn == 5)
            }
        }
    }

    @Test("the holds in effect are returned, the oldest first", arguments: StoreKind.available)
    func holds(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            #expect(try await fixture.store.holds().isEmpty)
            let app = try Self.key().app
            let type = try #require(EventType(validating: "system"))
            let scopes = [HoldScope(app: app, type: type, provider: "fcm"), HoldScope(app: app)]
            for scope in scopes { try await fixture.place(scope) }
            #expect(try await fixture.store.holds().map(\.scope) == scopes)
        }
    }
}
