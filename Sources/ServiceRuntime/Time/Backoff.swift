/// Growing, jittered pauses between attempts at the same operation: a reconnect, a restart of a child.
///
/// The n-th pause (from 0) is drawn evenly from `ceiling / 2 ... ceiling` with `ceiling = min(cap, base × 2ⁿ)`. With a
/// base of 100 ms and a cap of 5 s the ceilings are 100 ms, 200 ms, 400 ms, 800 ms, 1.6 s, 3.2 s, 5 s, 5 s, …
///
/// Half of each pause is fixed so that no attempt follows immediately. The other half is random so that many clients
/// spread out.
package struct Backoff: Sendable {
    private let base: Int64
    private let cap: Int64
    /// The ceiling in microseconds, like the other values.
    private var ceiling: Int64

    /// Creates a backoff.
    ///
    /// Spans below one microsecond count as one; a cap below the base counts as the base.
    package init(base: Duration, cap: Duration) {
        self.base = max(1, base.microseconds)
        self.cap = max(self.base, cap.microseconds)
        ceiling = self.base
    }

    /// Returns the next pause; later ones are longer, up to the cap.
    ///
    /// `chance`, a random number from 0 up to 1, shortens it by up to half.
    package mutating func next(chance: Double) -> Duration {
        let drawn = ceiling - Int64(Double(ceiling / 2) * min(max(chance, 0), 1))
        ceiling = min(cap, ceiling.saturatingMultiplied(by: 2))
        return .microseconds(drawn)
    }

    package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        next(chance: .random(in: 0..<1, using: &generator))
    }

    /// Starts again at the base, after a success.
    package mutating func reset() { ceiling = base }

    /// Limits the next pause to at most `pause`, after a partial success.
    package mutating func ease(to pause: Duration) {
        ceiling = max(base, min(ceiling, pause.microseconds))
    }
}
