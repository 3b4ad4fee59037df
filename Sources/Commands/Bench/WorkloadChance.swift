import ServiceRuntime

/// Chance that repeats itself: the same seed gives the same users and events on every machine.
struct WorkloadChance: RandomNumberGenerator {
    private var numbers: SplitMix

    /// Numbers of one stream do not depend on how many were drawn from another of the same seed.
    init(seed: UInt64, stream: UInt64) {
        numbers = SplitMix(seed: seed &+ stream &* 0xD129_0E4B_C6F5_2B4D)
    }

    mutating func next() -> UInt64 {
        numbers.next()
    }

    /// True in so many cases of a hundred.
    mutating func happens(percent: UInt64) -> Bool {
        next() % 100 < percent
    }

    mutating func index(below count: Int) -> Int {
        Int(next() % UInt64(max(1, count)))
    }
}
