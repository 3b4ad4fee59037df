import Foundation

/// Where "now" comes from: a parameter of everything that decides by time, so that tests move it by hand.
package protocol TimeSource: Sendable {
    func now() -> Instant
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
