import Foundation

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
