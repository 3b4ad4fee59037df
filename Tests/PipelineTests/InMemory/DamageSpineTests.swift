import AMQP
import BellhopRules
import Push
import TestSupport
import Testing
import Workbench

@testable import Pipeline

@Suite("Users whose rows make the database fail, without servers")
struct DamageSpineTests {
    private static let busy = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)

    private static func ground(_ users: [String]) throws -> SpineGround {
        let ground = try SpineGround()
        for user in users { try ground.person(user, device: "d-\(user)") }
        return ground
    }

    @Test("an event for a damaged user is given back with its content, and the others of its batch are pushed")
    func oneEvent() async throws {
        let users = (0..<20).map { "u\($0)" }
        let ground = try Self.ground(users)
        try ground.damage(["u7"])
        let events = users.map { ground.event("e-\($0)", to: [$0]) }
        let done = await ground.take(events)
        #expect(done == users.indices.filter { $0 != 7 })
        #expect(ground.provider.sent.count == 19)
        #expect(ground.deadLetters().isEmpty)
        let givenUp = ground.takeGivenUp()
        #expect(givenUp.map(\.tag) == [events[7].tag])
        #expect(givenUp.map { $0.message?.body } == [events[7].body])
        #expect(givenUp.map(\.why) == ["invalid page"])
        try ground.damage([])
        #expect(await ground.take([events[7].deliveredAgain]) == [0])
        #expect(ground.provider.sent.last == "d-u7")
    }

    @Test("an event for many users reaches all but the damaged user, and that user after the repair")
    func manyUsers() async throws {
        let users = (0..<9).map { "u\($0)" }
        let ground = try Self.ground(users)
        try ground.damage(["u4"])
        let event = ground.event("e", to: users)
        #expect(await ground.take([event]).isEmpty)
        #expect(ground.provider.sent.count == 8)
        #expect(ground.takeGivenUp().map(\.tag) == [event.tag])
        #expect(await ground.take([event.deliveredAgain]).isEmpty)
        try ground.damage([])
        #expect(await ground.take([event.deliveredAgain]) == [0])
        #expect(ground.provider.sent.sorted() == users.map { "d-\($0)" })
    }

    @Test("a resume that names a damaged user is given back, and its other users are pushed")
    func resumes() async throws {
        let users = (0..<6).map { "u\($0)" }
        let ground = try Self.ground(users)
        ground.provider.answer(users.map { _ in Self.busy })
        await ground.take([ground.event("e", to: users)])
        try ground.damage(["u2"])
        let resumes = ground.resumes()
        let sent = ground.provider.sent.count
        await ground.take(resumes)
        #expect(ground.provider.sent.count == sent + 5)
        #expect(!ground.takeGivenUp().isEmpty)
        try ground.damage([])
        await ground.take(resumes.map(\.deliveredAgain))
        let states = Set(ground.lines().values)
        #expect(states == ["delivered"])
    }

    @Test("an answer that cannot be settled gives its message back, and the others of the batch are settled")
    func settlements() async throws {
        let users = (0..<6).map { "u\($0)" }
        let ground = try Self.ground(users)
        let events = users.map { ground.event("e-\($0)", to: [$0]) }
        ground.provider.beforeAnswering { try? ground.damage(["u3"]) }
        #expect(await ground.take(events) == [0, 1, 2, 4, 5])
        let givenUp = ground.takeGivenUp()
        #expect(givenUp.map(\.tag) == [events[3].tag])
    }

    @Test("an answer that cannot be settled for seconds is settled later, and its push is not repeated")
    func settledLater() async throws {
        let users = (0..<6).map { "u\($0)" }
        let ground = try Self.ground(users)
        let failing = try #require(UserID(validating: "u3"))
        ground.store.state.withLock { $0.unsettledToCome = [failing: 12] }
        let events = users.map { ground.event("e-\($0)", to: [$0]) }
        #expect(await ground.take(events) == Array(users.indices))
        #expect(ground.takeGivenUp().isEmpty)
        #expect(ground.provider.sent.count == 6)
        #expect(Set(ground.lines().values) == ["delivered"])
        #expect(ground.store.state.withLock { $0.unsettledToCome } == [failing: 0])
    }

    @Test("a resumed delivery whose look-up fails alone is deferred, without an unknown outcome")
    func unreadable() async throws {
        let users = (0..<6).map { "u\($0)" }
        let ground = try Self.ground(users)
        ground.provider.answer(users.map { _ in Self.busy })
        await ground.take([ground.event("e", to: users)])
        let unreadable = try #require(UserID(validating: "u2"))
        ground.store.state.withLock { $0.unreadable = [unreadable] }
        let resumes = ground.resumes()
        #expect(await ground.take(resumes) == Array(resumes.indices))
        #expect(ground.takeGivenUp().isEmpty)
        #expect(ground.lines().mapValues { $0 == "delivered" }.values.count { $0 } == 5)
        let left = ground.store.state.withLock { $0.lines.values.filter { $0.state != .delivered } }
        #expect(left.map(\.state) == [.deferred])
        #expect(left.map(\.reason) == ["look-up-failed"])
        #expect(left.map(\.outcomeIsUnknown) == [false])
    }

    @Test("pushes are sent without a badge if the database takes too long to count")
    func uncounted() async throws {
        let ground = try SpineGround()
        try ground.person("u", device: "d", .ios)
        ground.store.state.withLock { $0.isTooSlowToCount = true }
        #expect(await ground.take([ground.event("e", to: ["u"])]) == [0])
        #expect(ground.provider.sent == ["d"])
        #expect(ground.provider.numbers.isEmpty)
        ground.store.state.withLock { $0.isTooSlowToCount = false }
        await ground.take([ground.event("f", to: ["u"])])
        #expect(ground.provider.numbers == ["d": 2])
    }
}
