package import ServiceRuntime
import Synchronization

/// A wall clock that changes only when a test moves it.
package final class ManualTime: TimeSource {
    private let instant: Mutex<Instant>

    package init(_ start: Instant = .epoch) {
        instant = Mutex(start)
    }

    package func now() -> Instant {
        instant.withLock { $0 }
    }

    package func advance(by span: Duration) {
        instant.withLock { $0 = $0 + span }
    }

    package func set(to other: Instant) {
        instant.withLock { $0 = other }
    }
}
