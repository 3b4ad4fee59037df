import ServiceRuntime
import Synchronization

/// A clock that advances only during a sleep, immediately and by the sleep's duration.
///
/// A test of waits of minutes runs in milliseconds, always in the same order.
final class SkippingTime: TimeSource {
    private let passed = Mutex(Duration.zero)
    private let start = ContinuousClock.now

    func now() -> Instant { Instant(seconds: 1_700_000_000) + passed.withLock { $0 } }

    func steady() -> ContinuousClock.Instant { start + passed.withLock { $0 } }

    func sleep(for span: Duration) async throws {
        try Task.checkCancellation()
        skip(span)
        await Task.yield()
    }

    func skip(_ span: Duration) {
        passed.withLock { $0 += max(.zero, span) }
    }
}
