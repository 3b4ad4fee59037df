/// A source of random numbers.
///
/// Code that draws takes it as a parameter, so that tests are repeatable.
///
/// Copies draw from the same source.
package struct RandomSource: RandomNumberGenerator, Sendable {
    private let draw: @Sendable () -> UInt64

    /// Creates a source; each call of `draw` returns one number.
    package init(_ draw: @escaping @Sendable () -> UInt64) { self.draw = draw }

    /// The system's generator.
    package static let system = RandomSource { .random(in: .min ... .max) }

    package func next() -> UInt64 { draw() }
}

/// SplitMix64: a small generator whose numbers depend only on its seed, on every machine.
package struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to, but not including, 1.
    package mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
