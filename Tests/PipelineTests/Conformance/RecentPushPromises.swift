import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: recent pushes", .limitedConcurrency, .timeLimit(.ofTest))
struct RecentPushPromises {
    /// Returns the count, and the age in seconds of the latest push with the key, which is `nil` if there is none.
    private static func ask(
        _ fixture: StoreFixture,
        key: String = "k",
        most: Int = 3
    ) async throws -> (ago: Int?, count: Int) {
        let question = RecentPushQuestion(try await fixture.known("u1"), burst: (key, .seconds(60)), most: most)
        let answer = try #require(try await fixture.store.recentPushes([question]).first)
        let now = try await fixture.now()
        return (answer.latest.map { Int((now.microseconds - $0.microseconds) / 1_000_000) }, answer.lowPriority)
    }

    private static func push(
        _ id: String,
        _ fixture: StoreFixture,
        _ delivery: NewDelivery = .sending(to: StoreFixture.device)
    ) async throws {
        let records = try fixture.records(id, to: ["u1"], #""collapseKey":"k""#, delivery: delivery)
        _ = try await fixture.store.record(records, as: .fresh)
    }

    @Test("the latest push of a key counts if it is recent enough and went to a device", arguments: StoreKind.available)
    func latest(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await Self.push("e1", fixture)
            try await fixture.pass(.seconds(450))
            try await Self.push("e2", fixture)
            try await fixture.pass(.seconds(40))
            try await Self.push("e3", fixture, .suppressed(.quietHours, target: StoreFixture.device))
            try await fixture.pass(.seconds(10))
            let found = try await Self.ask(fixture)
            #expect(found.ago.map { (50...70).contains($0) } == true)
            #expect(found.count == 2)
            #expect(try await Self.ask(fixture, key: "other").ago == nil)
            try await fixture.pass(.seconds(120))
            #expect(try await Self.ask(fixture).ago == nil)
        }
    }

    @Test(
        "a push deferred to the end of a burst counts from then, and a digest's pushes are not counted",
        arguments: StoreKind.available
    )
    func waited(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let later = try await fixture.now() + .seconds(90)
            try await Self.push("e1", fixture, .deferred(to: StoreFixture.device, Wait(.burst, until: later)))
            try await Self.push("e2", fixture, .deferred(to: StoreFixture.device, Wait(.digest, until: later)))
            let found = try await Self.ask(fixture)
            #expect(found.ago.map { (-90 ... -60).contains($0) } == true)
            #expect(found.count == 1)
        }
    }

    @Test("pushes of low priority are counted for an hour, up to the limit", arguments: StoreKind.available)
    func count(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for number in 0..<5 { try await Self.push("e\(number)", fixture) }
            #expect(try await Self.ask(fixture).count == 3)
            #expect(try await Self.ask(fixture, most: 10).count == 5)
            try await fixture.pass(.seconds(3_601))
            #expect(try await Self.ask(fixture).count == 0)
        }
    }

    @Test("a user without notifications has no recent pushes", arguments: StoreKind.available)
    func nobody(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let question = RecentPushQuestion(try StoreFixture.user("u1"), burst: ("k", .seconds(60)), most: 3)
            #expect(try await fixture.store.recentPushes([question]) == [DecisionFacts.RecentPushes()])
        }
    }
}
