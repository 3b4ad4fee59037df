import AMQP
import BellhopRules
import IntegrationSupport
import Push
import TestSupport
import Testing

@testable import Pipeline

@Suite("Users whose rows make the database fail, without servers")
struct InMemoryDamageTests {
    private static let busy = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)

    private static func fixture(_ users: [String]) throws -> InMemoryFixture {
        let fixture = try InMemoryFixture()
        for user in users { try fixture.person(user, device: "d-\(user)") }
        return fixture
    }

    @Test("an event for a damaged user is given back with its content, and the others of its batch are pushed")
    func oneEvent() async throws {
        let users = (0..<20).map { "u\($0)" }
        let fixture = try Self.fixture(users)
        try fixture.damage(["u7"])
        let events = users.map { fixture.event("e-\($0)", to: [$0]) }
        let done = await fixture.take(events)
        #expect(done == users.indices.filter { $0 != 7 })
        #expect(fixture.provider.sent.count == 19)
        #expect(fixture.deadLetters().isEmpty)
        let givenUp = fixture.takeGivenUp()
        #expect(givenUp.map(\.tag) == [events[7].tag])
        #expect(givenUp.map { $0.message?.body } == [events[7].body])
        #expect(givenUp.map(\.why) == ["invalid page"])
        try fixture.damage([])
        #expect(await fixture.take([events[7].deliveredAgain]) == [0])
        #expect(fixture.provider.sent.last == "d-u7")
    }

    @Test("an event for many users reaches all but the damaged user, and that user after the repair")
    func manyUsers() async throws {
        let users = (0..<9).map { "u\($0)" }
        let fixture = try Self.fixture(users)
        try fixture.damage(["u4"])
        let event = fixture.event("e", to: users)
        #expect(await fixture.take([event]).isEmpty)
        #expect(fixture.provider.sent.count == 8)
        #expect(fixture.takeGivenUp().map(\.tag) == [event.tag])
        #expect(await fixture.take([event.deliveredAgain]).isEmpty)
        try fixture.damage([])
        #expect(await fixture.take([event.deliveredAgain]) == [0])
        #expect(fixture.provider.sent.sorted() == users.map { "d-\($0)" })
    }

    @Test("a resume that names a damaged user is given back, and its other users are pushed")
    func resumes() async throws {
        let users = (0..<6).map { "u\($0)" }
        let fixture = try Self.fixture(users)
        fixture.provider.answer(users.map { _ in Self.busy })
        await fixture.take([fixture.event("e", to: users)])
        try fixture.damage(["u2"])
        let resumes = fixture.resumes()
        let sent = fixture.provider.sent.count
        await fixture.take(resumes)
        #expect(fixture.provider.sent.count == sent + 5)
        #expect(!fixture.takeGivenUp().isEmpty)
        try fixture.damage([])
        await fixture.take(resumes.map(\.deliveredAgain))
        let states = Set(fixture.lines().values)
        #expect(states == ["delivered"])
    }

    @Test("an answer that cannot be settled gives its message back, and the others of the batch are settled")
    func settlements() async throws {
        let users = (0..<6).map { "u\($0)" }
        let fixture = try Self.fixture(users)
        let events = users.map { fixture.event("e-\($0)", to: [$0]) }
        fixture.provider.beforeAnswering { try? fixture.damage(["u3"]) }
        #expect(await fixture.take(events) == [0, 1, 2, 4, 5])
        let givenUp = fixture.takeGivenUp()
        #expect(givenUp.map(\.tag) == [events[3].tag])
    }

    @Test("an answer that cannot be settled for seconds is settled later, and its push is not repeated")
    func settledLater() async throws {
        let users = (0..<6).map { "u\($0)" }
        let fixture = try Self.fixture(users)
        let failing = try #require(UserID(validating: "u3"))
        fixture.store.state.withLock { $0.unsettledToCome = [failing: 12] }
        let events = users.map { fixture.event("e-\($0)", to: [$0]) }
        #expect(await fixture.take(events) == Array(users.indices))
        #expect(fixture.takeGivenUp().isEmpty)
        #expect(fixture.provider.sent.count == 6)
        #expect(Set(fixture.lines().values) == ["delivered"])
        #expect(fixture.store.state.withLock { $0.unsettledToCome } == [failing: 0])
    }

    @Test("a resumed delivery whose look-up fails alone is deferred, without an unknown outcome")
    func unreadable() async throws {
        let users = (0..<6).map { "u\($0)" }
        let fixture = try Self.fixture(users)
        fixture.provider.answer(users.map { _ in Self.busy })
        await fixture.take([fixture.event("e", to: users)])
        let unreadable = try #require(UserID(validating: "u2"))
        fixture.store.state.withLock { $0.unreadable = [unreadable] }
        let resumes = fixture.resumes()
        #expect(await fixture.take(resumes) == Array(resumes.indices))
        #expect(fixture.takeGivenUp().isEmpty)
        #expect(fixture.lines().mapValues { $0 == "delivered" }.values.count { $0 } == 5)
        let left = fixture.store.state.withLock { $0.lines.values.filter { $0.state != .delivered } }
        #expect(left.map(\.state) == [.deferred])
        #expect(left.map(\.reason) == ["look-up-failed"])
        #expect(left.map(\.outcomeIsUnknown) == [false])
    }

    @Test("pushes are sent without a badge if the database takes too long to count")
    func uncounted() async throws {
        let fixture = try InMemoryFixture()
        try fixture.person("u", device: "d", .ios)
        fixture.store.state.withLock { $0.isTooSlowToCount = true }
        #expect(await fixture.take([fixture.event("e", to: ["u"])]) == [0])
        #expect(fixture.provider.sent == ["d"])
        #expect(fixture.provider.numbers.isEmpty)
        fixture.store.state.withLock { $0.isTooSlowToCount = false }
        await fixture.take([fixture.event("f", to: ["u"])])
        #expect(fixture.provider.numbers == ["d": 2])
    }
}
