import Testing

@testable import AMQP

@Suite("Pauses between attempts")
struct BackoffTests {
    @Test("they double from 0.2 s to 15 s and start over")
    func growth() {
        var backoff = Backoff()
        let pauses = (0..<9).map { _ in backoff.next(chance: 0).milliseconds }
        #expect(pauses == [200, 400, 800, 1600, 3200, 6400, 12800, 15000, 15000])
        backoff.reset()
        let first = backoff.next(chance: 0)
        #expect(first == .milliseconds(200))
    }

    @Test(
        "chance shortens them by half at most, whatever it says",
        arguments: [(0.5, 150), (1, 100), (7, 100), (-3, 200)]
    )
    func jitter(chance: Double, milliseconds: Int) {
        var backoff = Backoff()
        let pause = backoff.next(chance: chance)
        #expect(pause.milliseconds == milliseconds)
    }

    @Test("hosts take turns, and only a lasting connection resets the pauses")
    func turns() throws {
        var reconnection = Reconnection(try BrokerAddress(validating: "amqp://a,b"))
        let hosts = (0..<3).map { _ in reconnection.nextHost().name }
        #expect(hosts == ["a", "b", "a"])
        let now = ContinuousClock.now
        var pauses = [reconnection.pause(at: now, chance: 0)]
        for lasted in [9, 10] {
            reconnection.connected(at: now)
            pauses.append(reconnection.pause(at: now + .seconds(lasted), chance: 0))
        }
        #expect(pauses.map(\.milliseconds) == [200, 400, 200])
    }
}
