import ServiceRuntime
import TestSupport
import Testing

@Suite("Backoff")
struct BackoffTests {
    @Test("every pause lies between half its ceiling and its ceiling", arguments: [1, 2, 3, 99] as [UInt64])
    func bounds(seed: UInt64) {
        var generator = SeededChance(seed)
        var backoff = Backoff(base: .milliseconds(100), cap: .seconds(5))
        let ceilings = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]
        for ceiling in ceilings {
            let pause = backoff.next(using: &generator)
            #expect(pause >= .milliseconds(ceiling / 2), "seed \(seed)")
            #expect(pause <= .milliseconds(ceiling), "seed \(seed)")
        }
    }

    @Test("a partial success makes the next pause short, but never shorter than the base")
    func ease() {
        var backoff = Backoff(base: .milliseconds(100), cap: .seconds(5))
        for _ in 0..<9 { _ = backoff.next(chance: 0) }
        backoff.ease(to: .milliseconds(300))
        let pauses = (0..<2).map { _ in backoff.next(chance: 0) }
        #expect(pauses == [.milliseconds(300), .milliseconds(600)])
        backoff.ease(to: .zero)
        let least = backoff.next(chance: 0)
        #expect(least == .milliseconds(100))
    }

    @Test("the pauses of many clients differ")
    func jitter() {
        var generator = SeededChance(5)
        let pauses = (0..<100).map { _ in
            var backoff = Backoff(base: .seconds(1), cap: .seconds(60))
            return backoff.next(using: &generator)
        }
        #expect(Set(pauses).count > 90)
    }

    @Test("a reset starts again at the base")
    func reset() {
        var generator = SeededChance(6)
        var backoff = Backoff(base: .milliseconds(10), cap: .seconds(60))
        for _ in 0..<10 { _ = backoff.next(using: &generator) }
        backoff.reset()
        #expect(backoff.next(using: &generator) <= .milliseconds(10))
    }

    @Test("extreme bounds neither trap nor give a zero pause")
    func extremes() {
        var generator = SeededChance(8)
        var endless = Backoff(base: .seconds(Int64.max), cap: .seconds(Int64.max))
        var backwards = Backoff(base: .seconds(-5), cap: .seconds(-9))
        for _ in 0..<100 {
            #expect(endless.next(using: &generator) > .zero)
            #expect(backwards.next(using: &generator) > .zero)
        }
    }
}
