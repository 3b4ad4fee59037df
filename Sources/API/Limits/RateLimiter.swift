import ServiceRuntime
import Synchronization

/// Lets each caller through so often in a second, and as many at once; forgets those who have been quiet for a second.
package final class RateLimiter<Caller: Hashable & Sendable>: Sendable {
    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    private let rate: Double
    private let capacity: Int
    private let buckets = Mutex<[Caller: Bucket]>([:])

    /// `capacity` bounds the callers that are remembered; where there are more at once, all begin anew.
    package init(perSecond rate: Int, capacity: Int = 50_000) {
        self.rate = Double(max(1, rate))
        self.capacity = capacity
    }

    /// Nil where the caller may go on; else how long until it may.
    package func wait(for caller: Caller, at now: ContinuousClock.Instant) -> Duration? {
        buckets.withLock { buckets in
            var bucket = buckets[caller] ?? Bucket(tokens: rate, filledAt: now)
            let passed = (now - bucket.filledAt).secondsAsDouble
            bucket.tokens = min(rate, bucket.tokens + max(0, passed) * rate)
            bucket.filledAt = now
            let mayGoOn = bucket.tokens >= 1
            if mayGoOn { bucket.tokens -= 1 }
            if buckets[caller] == nil, buckets.count >= capacity { Self.forgetQuiet(&buckets, now, capacity) }
            buckets[caller] = bucket
            return mayGoOn ? nil : .milliseconds(Int64(((1 - bucket.tokens) / rate * 1_000).rounded(.up)))
        }
    }

    /// A bucket that nobody has touched for a second is full again.
    private static func forgetQuiet(
        _ buckets: inout [Caller: Bucket],
        _ now: ContinuousClock.Instant,
        _ capacity: Int
    ) {
        buckets = buckets.filter { now - $0.value.filledAt < .seconds(1) }
        if buckets.count >= capacity { buckets = [:] }
    }
}
