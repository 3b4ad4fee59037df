@testable import Postgres
import ServiceRuntime
@testable import Store
import Synchronization
import Testing

@testable import Pipeline

@Suite("How far back a duty looks")
struct LookBackTests {
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

    private func lookBack(_ period: Int) -> LookBack {
        LookBack(whole: .seconds(period), share: 1) { [clock] in clock.now }
    }

    /// One look; how many seconds it reached back, nil for a whole one.
    private func look(
        _ lookBack: inout LookBack,
        left: Int? = nil,
        taking seconds: Int = 0,
        failing: Bool = false
    ) async -> Int? {
        var reach: Duration?
        _ = try? await lookBack.look { (span) throws(PostgresError) -> DueItems<Int> in
            reach = span
            clock.advance(seconds)
            if failing { throw PostgresError(.connectionLost, "a test") }
            return DueItems([], left: left.map { .seconds($0) })
        }
        return reach == DueLook.whole ? nil : reach.map { Int($0.components.seconds) - Self.slack }
    }

    @Test("the first look is a whole one, the next begin where the last one left nothing, until the period is over")
    func period() async {
        var looks = lookBack(10)
        var reaches: [Int?] = []
        for _ in 0..<12 {
            reaches.append(await look(&looks))
            clock.advance(1)
        }
        #expect(reaches == [nil, 1, 1, 1, 1, 1, 1, 1, 1, 1, nil, 1])
    }

    @Test("after a look that took all it may, the next begins with what is left")
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

    @Test("a look that is not a whole one never moves the beginning back")
    func forward() async {
        var looks = lookBack(1_000)
        _ = await look(&looks)
        clock.advance(1)
        _ = await look(&looks, left: 30)
        clock.advance(1)
        let next = await look(&looks)
        #expect(next == 2)
    }

    @Test("what is put back is found by the next look")
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

    @Test("after a failure the next look is a whole one, and after a whole one that failed it is not")
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

    @Test("before a look has succeeded each goes to the very beginning, and so does the one after a whole one in vain")
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

    @Test("whole looks that take long are rarer: no more than a twentieth of the time is theirs")
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
