/// Where chance comes from: a parameter of everything that draws, so that tests repeat it.
///
/// Copies draw from the same source.
package struct Chance: RandomNumberGenerator, Sendable {
    private let draw: @Sendable () -> UInt64

    /// Each call draws one number.
    package init(_ draw: @escaping @Sendable () -> UInt64) {
        self.draw = draw
    }

    /// The system's own.
    package static let system = Chance { .random(in: .min ... .max) }

    package func next() -> UInt64 { draw() }
}
