import ServiceRuntime

/// One delay of the retry ladder: a queue whose messages all wait equally long, so that none blocks another.
package struct RetryTier: Sendable, Hashable {
    package let delay: Duration

    package init(_ delay: Duration) {
        self.delay = delay
    }

    /// The delay as text: `10s`, `2m`, `1h`.
    package var name: String { delay.shortText }

    /// The queue's message TTL.
    var milliseconds: Int64 { delay.microseconds / 1000 }
}
