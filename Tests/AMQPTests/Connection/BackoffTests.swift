import ServiceRuntime
import Testing

@testable import AMQP

@Suite("Pauses between attempts")
struct BackoffTests {
    @Test("pauses double from 0.2 s to 15 s and start again after a reset")
    func growth() {
        var backoff = Backoff.ofBroker
        let pauses = (0..<9).map { _ in backoff.next(chance: 0).pollMilliseconds }
        #expect(pauses == [200, 400, 800, 1600, 3200, 6400, 12800, 15000, 15000])
        backoff.reset()
        let first = backoff.next(chance: 0)
        #expect(first == .milliseconds(200))
    }

    @Test(
        "any random number shortens pauses by at most half",
        arguments: [(0.5, 150), (1, 100), (7, 100), (-3, 200)]
    )
    func jitter(chance: Double, milliseconds: Int) {
        var backoff = Backoff.ofBroker
        let pause = backoff.next(chance: chance)
        #expect(pause.pollMilliseconds == milliseconds)
    }

    @Test("hosts take turns")
    func turns() throws {
        var reconnection = Reconnection(try BrokerAddress(validating: "amqp://a,b"))
        let hosts = (0..<3).map { _ in reconnection.nextHost().name }
        #expect(hosts == ["a", "b", "a"])
    }

    @Test("pauses grow while attempts fail, start again after lasting work, and become short after brief work")
    func outcomes() throws {
        var reconnection = Reconnection(try BrokerAddress(validating: "amqp://a"))
        let now = ContinuousClock.now
        var pauses = (0..<7).map { _ in reconnection.pause(at: now, chance: 0).pollMilliseconds }
        #expect(pauses == [200, 400, 800, 1600, 3200, 6400, 12800])
        reconnection.ready(at: now)
        pauses = [reconnection.pause(at: now + .seconds(2), chance: 0).pollMilliseconds]
        #expect(pauses == [800], "the broker was there")
        pauses = [9, 10].map { lasted in
            reconnection.ready(at: now)
            return reconnection.pause(at: now + .seconds(lasted), chance: 0).pollMilliseconds
        }
        #expect(pauses == [800, 200])
        for _ in 0..<10 {
            reconnection.ready(at: now)
            pauses.append(reconnection.pause(at: now, chance: 0).pollMilliseconds)
        }
        let late = Set(pauses.suffix(8))
        #expect(late == [800], "a broker that drops connections is not stormed")
    }

    @Test("a pause ends early, but not immediately, when another connection is back")
    func called() {
        let presence = BrokerAvailability()
        let now = ContinuousClock.now
        let rest = ReconnectPause(.seconds(12), presence, at: now)
        let short = ReconnectPause(.milliseconds(300), presence, at: now)
        #expect(rest.left(at: now + .seconds(1)) == .seconds(11))
        presence.returned()
        #expect(rest.left(at: now) == ReconnectPause.shortest)
        #expect(rest.left(at: now + .seconds(1)) == .zero)
        #expect(short.left(at: now) == .milliseconds(300))
        #expect(
            ReconnectPause(.seconds(12), presence, at: now).left(at: now) == .seconds(12),
            "what was before does not count"
        )
    }
}
