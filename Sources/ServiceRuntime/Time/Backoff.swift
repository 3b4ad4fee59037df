/// Growing, jittered pauses between attempts at the same thing: a reconnect, a restart of a child.
///
/// The n-th pause (from 0) is drawn evenly from `ceiling / 2 ... ceiling` with `ceiling = min(cap, base × 2ⁿ)`. With a
/// base of 100 ms and a cap of 5 s the ceilings are 100 ms, 200 ms, 400 ms, 800 ms, 1.6 s, 3.2 s, 5 s, 5 s, …
/// Half of it is fixed so that nobody retries at once; half is drawn so that a crowd spreads out.
package struct Backoff: Sendable {
    package let base: Duration
    package let cap: Duration
    private var ceiling: Int64

    /// Spans below one microsecond count as one; a cap below the base counts as the base.
    package init(base: Duration, cap: Duration) {
        let first = max(1, base.microseconds)
        self.base = .microseconds(first)
        self.cap = .microseconds(max(first, cap.microseconds))
        ceiling = first
    }

    /// The next pause; later ones are longer until the cap.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let drawn = Int64.random(in: (ceiling - ceiling / 2)...ceiling, using: &generator)
        ceiling = min(cap.microseconds, ceiling.saturatingMultiplied(by: 2))
        return .microseconds(drawn)
    }

    /// Starts again at the base, after a success.
    package mutating func reset() {
        ceiling = base.microseconds
    }
}
