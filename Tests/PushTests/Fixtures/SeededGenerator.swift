import Foundation

/// A reproducible source of chance (SplitMix64): a failing round can be run again from its printed seed.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64
    let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// From BELLHOP_FUZZ_SEED, or a fresh one; printed either way.
    static func announced(_ purpose: String) -> SeededGenerator {
        let given = ProcessInfo.processInfo.environment["BELLHOP_FUZZ_SEED"].flatMap(UInt64.init)
        let generator = SeededGenerator(seed: given ?? UInt64.random(in: 0...UInt64.max))
        print("\(purpose): BELLHOP_FUZZ_SEED=\(generator.seed)")
        return generator
    }

    /// From BELLHOP_FUZZ_ROUNDS, or few enough for every run.
    static func rounds(_ usual: Int) -> Int {
        ProcessInfo.processInfo.environment["BELLHOP_FUZZ_ROUNDS"].flatMap(Int.init) ?? usual
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
