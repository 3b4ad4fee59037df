/// Chance that repeats itself: the same seed gives the same users and events on every machine. (SplitMix64.)
struct WorkloadChance: RandomNumberGenerator {
    private var state: UInt64

    /// Numbers of one stream do not depend on how many were drawn from another of the same seed.
    init(seed: UInt64, stream: UInt64) {
        state = seed &+ stream &* 0xD129_0E4B_C6F5_2B4D
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True in so many cases of a hundred.
    mutating func happens(percent: UInt64) -> Bool {
        next() % 100 < percent
    }

    mutating func index(below count: Int) -> Int {
        Int(next() % UInt64(max(1, count)))
    }
}
