import Foundation
import ServiceRuntime

/// Random numbers that a failing test can repeat: print the seed, and pass it in again.
package struct SeededChance: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var numbers: SplitMix

    package init(_ seed: UInt64) {
        self.seed = seed
        numbers = SplitMix(seed: seed)
    }

    /// Returns a source with the seed `BELLHOP_FUZZ_SEED`, or a random one, and prints the seed.
    package static func announced(_ purpose: String) -> SeededChance {
        let chance = SeededChance(setting("BELLHOP_FUZZ_SEED") ?? UInt64.random(in: 1...UInt64.max))
        print("\(purpose): BELLHOP_FUZZ_SEED=\(chance.seed)")
        return chance
    }

    /// Returns the number of rounds from `BELLHOP_FUZZ_ROUNDS`, or a default that is small enough for every run.
    package static func rounds(_ usual: Int) -> Int { setting("BELLHOP_FUZZ_ROUNDS") ?? usual }

    private static func setting<Number: LosslessStringConvertible>(_ name: String) -> Number? {
        ProcessInfo.processInfo.environment[name].flatMap { Number($0) }
    }

    package mutating func next() -> UInt64 {
        numbers.next()
    }
}
