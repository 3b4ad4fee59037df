import Foundation

/// Chance that a failing test can repeat: print the seed, pass it in again. (SplitMix64.)
package struct SeededChance: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var state: UInt64

    package init(_ seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// From `BELLHOP_FUZZ_SEED`, or a fresh one; printed either way.
    package static func announced(_ purpose: String) -> SeededChance {
        let chance = SeededChance(setting("BELLHOP_FUZZ_SEED") ?? UInt64.random(in: 1...UInt64.max))
        print("\(purpose): BELLHOP_FUZZ_SEED=\(chance.seed)")
        return chance
    }

    /// From `BELLHOP_FUZZ_ROUNDS`, or few enough for every run.
    package static func rounds(_ usual: Int) -> Int { setting("BELLHOP_FUZZ_ROUNDS") ?? usual }

    private static func setting<Number: LosslessStringConvertible>(_ name: String) -> Number? {
        ProcessInfo.processInfo.environment[name].flatMap { Number($0) }
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
