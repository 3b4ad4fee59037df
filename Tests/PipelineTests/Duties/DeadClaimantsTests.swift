import ServiceRuntime
import Store
import Testing

@testable import Pipeline

@Suite("Dead claimants")
struct DeadClaimantsTests {
    private let start = ContinuousClock.now

    /// Polls every two seconds, and returns the seconds at which a poll reported a death.
    private func news(
        from first: Int = 0,
        through last: Int,
        _ dead: inout DeadClaimants,
        isUnlocked: Bool = true,
        beats: (Int) -> Int64 = { _ in 7 }
    ) -> [Int] {
        var news: [Int] = []
        for second in stride(from: first, through: last, by: 2) {
            let sighting = ClaimantBook.Sighting(number: 3, beats: beats(second), isUnlocked: isUnlocked)
            if dead.see([sighting], at: start + .seconds(second)) { news.append(second) }
        }
        return news
    }

    @Test("a claimant without lock and heartbeat is dead after twelve seconds, and is reported once")
    func death() {
        var dead = DeadClaimants()
        let news = news(through: 30, &dead)
        #expect(news == [12])
        #expect(dead.numbers == [3])
    }

    @Test("a claimant with heartbeats is alive, although its session was lost")
    func beating() {
        var dead = DeadClaimants()
        let news = news(through: 60, &dead) { Int64($0 / 5) }
        #expect(news.isEmpty)
        #expect(dead.numbers.isEmpty)
    }

    @Test("a claimant whose session holds the lock is alive, although it writes no heartbeat")
    func locked() {
        var dead = DeadClaimants()
        let held = news(through: 60, &dead, isUnlocked: false)
        let free = news(from: 62, through: 90, &dead)
        #expect(held.isEmpty)
        #expect(free == [72])
    }

    @Test("a failed poll and a late one start the period again")
    func interruptions() {
        var dead = DeadClaimants()
        let before = news(through: 10, &dead)
        dead.miss()
        let failed = news(from: 12, through: 22, &dead)
        let late = news(from: 40, through: 60, &dead)
        #expect(before.isEmpty)
        #expect(failed.isEmpty)
        #expect(late == [52])
    }

    @Test("a claimant that writes a heartbeat again is alive again")
    func resurrection() {
        var dead = DeadClaimants()
        let death = news(through: 12, &dead)
        let beat = news(from: 14, through: 14, &dead) { _ in 8 }
        #expect(death == [12])
        #expect(beat.isEmpty)
        #expect(dead.numbers.isEmpty)
    }

    @Test("dead claimants are forgotten after an hour")
    func memory() {
        var dead = DeadClaimants()
        _ = news(through: 12, &dead)
        let soon = dead.forgotten(at: start + .seconds(3_600))
        let late = dead.forgotten(at: start + .seconds(3_613))
        let news = dead.see([], at: start + .seconds(3_614))
        #expect(soon.isEmpty)
        #expect(late == [3])
        #expect(!news)
        #expect(dead.numbers.isEmpty)
    }
}
