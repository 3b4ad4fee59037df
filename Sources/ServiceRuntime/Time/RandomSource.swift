/// A source of random numbers.
///
/// Code that draws takes it as a parameter, so that tests are repeatable.
///
/// Copies draw from the same source.
package struct RandomSource: RandomNumberGenerator, Sendable {
    private let draw: @Sendable () -> UInt64

    /// Creates a source; each call of `draw` returns one number.
    package init(_ draw: @escaping @Sendable () -> UInt64) {
        self.draw = draw
    }

    /// The system's generator.
    package static let system = RandomSource { .random(in: .min ... .max) }

    package func next() -> UInt64 { draw() }
}
