package import ServiceRuntime

/// A time source with the machine's date and a steady clock that the test moves.
package final class ManualSteadyTime: TimeSource {
    private let moved = ManualTime()
    private let start = ContinuousClock.now

    package init() {}

    package func now() -> Instant { SystemTime().now() }

    package func steady() -> ContinuousClock.Instant { start + (moved.now() - .epoch) }

    package func advance(by span: Duration) { moved.advance(by: span) }
}
