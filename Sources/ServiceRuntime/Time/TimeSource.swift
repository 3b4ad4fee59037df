import Foundation

/// A source of the current time.
///
/// Code that decides by time takes it as a parameter, so that tests can set it.
package protocol TimeSource: Sendable {
    /// The current date and time.
    func now() -> Instant
    /// The steady clock for measuring spans, which never goes back.
    func steady() -> ContinuousClock.Instant
    /// Sleeps for `span` on the steady clock; throws if the task is cancelled.
    func sleep(for span: Duration) async throws
}

extension TimeSource {
    package func steady() -> ContinuousClock.Instant { .now }

    package func sleep(for span: Duration) async throws { try await Task.sleep(for: span) }
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
