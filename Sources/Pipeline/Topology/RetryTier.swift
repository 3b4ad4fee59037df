import ServiceRuntime

/// One delay of the retry ladder: a queue whose messages all wait equally long, so that none is held up by another.
package struct RetryTier: Sendable, Hashable {
    package let delay: Duration

    package init(_ delay: Duration) {
        self.delay = delay
    }

    /// `10s`, `2m`, `1h`.
    package var name: String { delay.shortText }

    /// What the broker is told.
    var milliseconds: Int64 { delay.microseconds / 1000 }
}
