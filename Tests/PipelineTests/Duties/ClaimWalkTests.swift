import Testing

@testable import Pipeline

@Suite("The walk for forgotten claims")
struct ClaimWalkTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("a round follows the previous one after a rest")
    func rest() {
        var walk = ClaimWalk(rest: .seconds(60), lease: .seconds(30))
        let first = walk.isDue(at: at(0), deaths: 0)
        walk.end(before: 1024, at: at(0))
        let second = walk.isDue(at: at(5), deaths: 0)
        #expect(first && second && walk.page == 1024)
        walk.end(before: nil, at: at(5))
        let dues = [6, 64, 65].map { walk.isDue(at: at($0), deaths: 0) }
        #expect(dues == [false, false, true] && walk.page == 0)
    }

    @Test("a death ends the rest when the leases of the dead process have ended, once for each death")
    func death() {
        var walk = ClaimWalk(rest: .seconds(600), lease: .seconds(30))
        walk.end(before: nil, at: at(0))
        let dues = [10, 39, 40].map { walk.isDue(at: at($0), deaths: 1) }
        #expect(dues == [false, false, true])
        walk.end(before: nil, at: at(40))
        let later = [41, 70, 100].map { walk.isDue(at: at($0), deaths: 1) }
        #expect(later == [false, false, false])
        let others = [(101, 2), (120, 3), (131, 3), (149, 3), (150, 3)].map { second, deaths in
            let isDue = walk.isDue(at: at(second), deaths: deaths)
            if isDue { walk.end(before: nil, at: at(second)) }
            return isDue
        }
        #expect(others == [false, false, true, false, true])
    }

    @Test("leases that end within a round let the next one follow without a rest, and the round continues")
    func within() {
        var walk = ClaimWalk(rest: .seconds(600), lease: .seconds(30))
        _ = walk.isDue(at: at(0), deaths: 1)
        walk.end(before: 1024, at: at(0))
        let goesOn = walk.isDue(at: at(30), deaths: 1)
        #expect(goesOn && walk.page == 1024)
        walk.end(before: nil, at: at(30))
        let next = walk.isDue(at: at(31), deaths: 1)
        #expect(next && walk.page == 0)
        walk.end(before: nil, at: at(31))
        let rests = !walk.isDue(at: at(32), deaths: 1)
        #expect(rests)
    }
}
