import ServiceRuntime

/// A provider's rate limit for all workers together.
package struct PushBudget: Hashable, Sendable {
    /// The account of the limit; senders with the same name share it.
    package let name: String
    /// The number of messages within `period`; after a quiet time, as many may be sent together.
    package let pushes: Int
    package let period: Duration

    package init(name: String, pushes: Int, period: Duration) {
        self.name = name
        self.pushes = max(1, pushes)
        self.period = max(.milliseconds(1), period)
    }

    /// Creates the budget of an account.
    init(name: String, _ limit: Limit) {
        self.init(name: name, pushes: limit.pushes, period: .seconds(limit.seconds))
    }

    /// The limit in a configuration: a number of pushes in a number of seconds.
    struct Limit {
        let pushes: Int
        let seconds: Int
    }

    package var perSecond: Double { Double(pushes) / period.secondsAsDouble }
}
