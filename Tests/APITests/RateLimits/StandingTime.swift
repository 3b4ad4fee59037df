import ServiceRuntime
import TestSupport

/// A time source with the machine's date and a steady clock that the test moves.
final class StandingTime: TimeSource {
    private let hand = ManualTime()
    private let start = ContinuousClock.now

    func now() -> Instant { SystemTime().now() }

    func steady() -> ContinuousClock.Instant { start + (hand.now() - .epoch) }

    func advance(by span: Duration) { hand.advance(by: span) }
}
