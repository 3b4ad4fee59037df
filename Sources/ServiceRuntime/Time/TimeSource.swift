import Foundation
import Synchronization

/// Where "now" comes from: a parameter of everything that decides by time, so that tests move it by hand.
package protocol TimeSource: Sendable {
    /// The date.
    func now() -> Instant
    /// What spans are measured by: it never goes back.
    func steady() -> ContinuousClock.Instant
    /// Until that much later on the steady clock; throws where the task is cancelled.
    func sleep(for span: Duration) async throws
}

extension TimeSource {
    package func steady() -> ContinuousClock.Instant { .now }

    package func sleep(for span: Duration) async throws {
        try await Task.sleep(for: span)
    }
}

/// The machine's wall clock.
package struct SystemTime: TimeSource {
    package init() {}

    package func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(seconds: Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}

/// A wall clock that stands still until a test moves it.
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
