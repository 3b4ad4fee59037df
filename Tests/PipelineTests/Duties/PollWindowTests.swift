@testable import Postgres
import ServiceRuntime
@testable import Store
import Synchronization
import Testing

@testable import Pipeline

@Suite("Reach of a duty's polls")
struct PollWindowTests {
    /// A clock that the test moves.
    private final class Clock: Sendable {
        private let reading = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { reading.withLock { $0 } }

        func advance(_ seconds: Int) {
            reading.withLock { $0 += .seconds(seconds) }
        }
    }

    private struct Trouble: Error {}

    private let clock = Clock()
    private static let slack = 60

    private func lookBack(_ period: Int) -> PollWindow {
        PollWindow(whole: .seconds(period), share: 1) { [clock] in clock.now }
    }

    /// Runs one poll and returns the seconds that it reached back, or `nil` if it began at the start.
    private func look(
        _ lookBack: inout PollWindow,
        left: Int? = nil,
        taking seconds: Int = 0,
        failing: Bool = false
    ) async -> Int? {
        var reach: Duration?
        _ = try? await lookBack.look { (span) throws(PostgresError) -> DuePollResult<Int> in
            reach = span
            clock.advance(seconds)
            if failing { throw PostgresError(.connectionLost, "a test") }
            return DuePollResult([], left: left.map { .seconds($0) })
        }
        return reach == DuePoll.whole ? nil : reach.map { Int($0.components.seconds) - Self.slack }
    }

    @Test("the first poll begins at the start, and the next ones where the last left nothing, until the period is over")
    func period() async {
        var looks = lookBack(10)
        var reaches: [Int?] = []
        for _ in 0..<12 {
            reaches.append(await look(&looks))
            clock.advance(1)
        }
        #expect(reaches == [nil, 1, 1, 1, 1, 1, 1, 1, 1, 1, nil, 1])
    }

    @Test("after a poll that took its maximum, the next one begins at the first remaining row")
    func full() async {
        var looks = lookBack(1_000)
        _ = await look(&looks, left: 500)
        clock.advance(1)
        let second = await look(&looks, left: 300)
        clock.advance(1)
        let third = await look(&looks)
        clock.advance(1)
        let last = await look(&looks)
        #expect([second, third, last] == [501, 301, 1])
    }

    @Test("a poll that does not begin at the start never moves the beginning back")
    func forward() async {
        var looks = lookBack(1_000)
        _ = await look(&looks)
        clock.advance(1)
        _ = await look(&looks, left: 30)
        clock.advance(1)
        let next = await look(&looks)
        #expect(next == 2)
    }

    @Test("rows that are put back are found by the next poll")
    func puttingBack() async {
        var looks = lookBack(1_000)
        _ = await look(&looks)
        clock.advance(100)
        _ = await look(&looks)
        looks.putBack()
        clock.advance(1)
        let next = await look(&looks)
        #expect(next == 101)
    }

    @Test("after a failure the next poll begins at the start, unless the failed poll did so already")
    func failures() async {
        var looks = lookBack(100)
        _ = await look(&looks)
        clock.advance(100)
        let first = await look(&looks, failing: true)
        clock.advance(1)
        let second = await look(&looks, failing: true)
        clock.advance(1)
        let third = await look(&looks)
        clock.advance(1)
        let fourth = await look(&looks)
        #expect([first, second, third, fourth] == [nil, 101, nil, 1])
    }

    @Test("every poll begins at the start until one has succeeded, and again if rows were put back after it")
    func nothingKnown() async {
        var looks = lookBack(1_000)
        _ = await look(&looks, failing: true)
        clock.advance(1)
        let first = await look(&looks)
        looks.putBack()
        clock.advance(1)
        let second = await look(&looks)
        clock.advance(1)
        let third = await look(&looks)
        #expect([first, second, third] == [nil, nil, 1])
    }

    @Test("long polls from the start are rarer: they take at most a twentieth of the time")
    func share() async {
        var looks = lookBack(100)
        _ = await look(&looks, taking: 10)
        clock.advance(180)
        let before = await look(&looks)
        clock.advance(10)
        let after = await look(&looks)
        #expect(before == 190)
        #expect(after == nil)
    }
}
