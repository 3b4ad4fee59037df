import ServiceRuntime
import Synchronization

/// Limits each caller to a steady rate with a burst.
///
/// It forgets a caller whose bucket is full again.
package final class RateLimiter<Caller: Hashable & Sendable>: Sendable {
    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    private let burst: Double
    /// Calls per second.
    private let rate: Double
    private let capacity: Int
    private let buckets = Mutex<[Caller: Bucket]>([:])

    /// Creates a limiter of `rate` calls per second.
    ///
    /// `capacity` limits the number of remembered callers. If more are active at the same time, all buckets are reset.
    package init(perSecond rate: Int, capacity: Int = 50_000) {
        burst = Double(max(1, rate))
        self.rate = burst
        self.capacity = capacity
    }

    /// Creates a limiter of `burst` calls at the same time, then one call per `pause`.
    package init(burst: Int, every pause: Duration, capacity: Int = 50_000) {
        self.burst = Double(max(1, burst))
        rate = 1 / max(0.001, pause.secondsAsDouble)
        self.capacity = capacity
    }

    /// Returns the wait until the caller may continue, or `nil` if the call is allowed now.
    package func wait(for caller: Caller, at now: ContinuousClock.Instant) -> Duration? {
        buckets.withLock { buckets in
            var bucket = buckets[caller] ?? Bucket(tokens: burst, filledAt: now)
            let passed = (now - bucket.filledAt).secondsAsDouble
            bucket.tokens = min(burst, bucket.tokens + max(0, passed) * rate)
            bucket.filledAt = now
            let mayGoOn = bucket.tokens >= 1
            if mayGoOn { bucket.tokens -= 1 }
            if buckets[caller] == nil, buckets.count >= capacity { forgetQuiet(&buckets, now) }
            buckets[caller] = bucket
            return mayGoOn ? nil : .milliseconds(Int64(((1 - bucket.tokens) / rate * 1_000).rounded(.up)))
        }
    }

    /// Forgets callers that were inactive for so long that their buckets are full.
    private func forgetQuiet(_ buckets: inout [Caller: Bucket], _ now: ContinuousClock.Instant) {
        buckets = buckets.filter { (now - $0.value.filledAt).secondsAsDouble < burst / rate }
        if buckets.count >= capacity { buckets = [:] }
    }
}
