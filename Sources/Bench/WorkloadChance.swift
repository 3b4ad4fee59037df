import ServiceRuntime

/// A reproducible random source.
///
/// The same seed gives the same users and events on every machine.
struct WorkloadChance: RandomNumberGenerator {
    private var numbers: SplitMix

    /// Creates one stream of a seed.
    ///
    /// Its numbers do not depend on the draws from another stream of the same seed.
    init(seed: UInt64, stream: UInt64) {
        numbers = SplitMix(seed: seed &+ stream &* 0xD129_0E4B_C6F5_2B4D)
    }

    mutating func next() -> UInt64 {
        numbers.next()
    }

    /// Returns true in `percent` of 100 cases.
    mutating func happens(percent: UInt64) -> Bool {
        next() % 100 < percent
    }

    mutating func index(below count: Int) -> Int {
        Int(next() % UInt64(max(1, count)))
    }
}
